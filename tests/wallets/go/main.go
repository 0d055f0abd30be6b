// A wallet on irmago. Each input line is an errand in JSON: an offer, or a link. Each output line is the outcome of an
// errand.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"

	"github.com/privacybydesign/irmago/eudi"
	"github.com/sirupsen/logrus"
)

// errand is one input line.
type errand struct {
	// Offer is a link with a credential offer, and Codes are the codes that the user types, one after the other.
	Offer string   `json:"offer"`
	Codes []string `json:"tx_codes"`
	// Root is the root of issuers that the wallet trusts, as PEM.
	Root string `json:"trusted_root"`
	// Link is a link with a request, and Received is the number of an earlier offer.
	Link     string `json:"link"`
	Received int    `json:"received"`
}

// outcome is one output line.
type outcome struct {
	Received    *int   `json:"received,omitempty"`
	Credentials int    `json:"credentials,omitempty"`
	AskedAgain  int    `json:"asked_again"`
	Presented   bool   `json:"presented,omitempty"`
	Error       string `json:"error,omitempty"`
}

func main() {
	folder := os.Args[1]
	eudi.Logger = logrus.New()
	eudi.Logger.SetOutput(os.Stderr)
	var wallets []*wallet
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	told := json.NewEncoder(os.Stdout)
	// The library's database logs to standard output.
	os.Stdout = os.Stderr
	for lines.Scan() {
		went, err := run(folder, lines.Bytes(), &wallets)
		if err != nil {
			went.Error = err.Error()
		}
		if err := told.Encode(went); err != nil {
			panic(err)
		}
	}
}

// run does one errand. Each offer is accepted by a new wallet.
func run(folder string, line []byte, wallets *[]*wallet) (outcome, error) {
	var asked errand
	if err := json.Unmarshal(line, &asked); err != nil {
		return outcome{}, err
	}
	if asked.Offer == "" {
		if asked.Received >= len(*wallets) {
			return outcome{}, errors.New("nothing of this number was received")
		}
		err := (*wallets)[asked.Received].present(asked.Link)
		return outcome{Presented: err == nil}, err
	}
	made, err := newWallet(folder, asked.Root)
	if err != nil {
		return outcome{}, err
	}
	went, err := made.receive(asked.Offer, asked.Codes)
	if err != nil {
		return went, err
	}
	number := len(*wallets)
	*wallets = append(*wallets, made)
	went.Received = &number
	return went, nil
}
