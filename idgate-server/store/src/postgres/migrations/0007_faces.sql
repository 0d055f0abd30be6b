-- How the pages of a client look, and where they lead for privacy and help.
ALTER TABLE clients ADD COLUMN accent text;       -- #rrggbb; NULL: the usual colours
ALTER TABLE clients ADD COLUMN privacy_url text;  -- NULL: the operator's
ALTER TABLE clients ADD COLUMN help_url text;     -- NULL: the operator's
