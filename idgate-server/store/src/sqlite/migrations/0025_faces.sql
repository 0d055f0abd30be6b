-- How the pages of a client look, and where they lead for privacy and help.
ALTER TABLE clients ADD COLUMN accent TEXT;       -- #rrggbb; NULL: the usual colours
ALTER TABLE clients ADD COLUMN privacy_url TEXT;  -- NULL: the operator's
ALTER TABLE clients ADD COLUMN help_url TEXT;     -- NULL: the operator's
