// Reads NACHA files with moov-io/ach, an implementation that shares nothing with ours, and prints what it found in
// them: one line of JSON for each path on the standard input. tests/ach-judge.spec.ts builds and runs it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/moov-io/ach"
)

type entry struct {
	TransactionCode int    `json:"transactionCode"`
	ReceivingDfi    string `json:"receivingDfi"`
	AccountNumber   string `json:"accountNumber"`
	Amount          int    `json:"amount"`
	IndividualID    string `json:"individualId"`
	IndividualName  string `json:"individualName"`
	TraceNumber     string `json:"traceNumber"`
	Information     string `json:"information"`
	Reason          string `json:"reason"`
	OriginalTrace   string `json:"originalTrace"`
	DateOfDeath     string `json:"dateOfDeath"`
	ChangeCode      string `json:"changeCode"`
	CorrectedData   string `json:"correctedData"`
}

type batch struct {
	ServiceClass  int     `json:"serviceClass"`
	Class         string  `json:"class"`
	CompanyName   string  `json:"companyName"`
	CompanyID     string  `json:"companyId"`
	EffectiveDate string  `json:"effectiveDate"`
	Entries       []entry `json:"entries"`
}

type verdict struct {
	Path        string  `json:"path"`
	Problem     string  `json:"problem"`
	TotalDebit  int     `json:"totalDebit"`
	TotalCredit int     `json:"totalCredit"`
	Batches     []batch `json:"batches"`
}

func main() {
	paths := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for paths.Scan() {
		if err := answers.Encode(judge(paths.Text())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := paths.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(path string) verdict {
	answer := verdict{Path: path, Batches: []batch{}}
	file, err := ach.ReadFile(path)
	if err == nil {
		err = file.Validate()
	}
	if err != nil {
		answer.Problem = err.Error()
		return answer
	}
	answer.TotalDebit = file.Control.TotalDebitEntryDollarAmountInFile
	answer.TotalCredit = file.Control.TotalCreditEntryDollarAmountInFile
	for _, one := range file.Batches {
		header := one.GetHeader()
		found := batch{
			ServiceClass:  header.ServiceClassCode,
			Class:         header.StandardEntryClassCode,
			CompanyName:   header.CompanyName,
			CompanyID:     header.CompanyIdentification,
			EffectiveDate: header.EffectiveEntryDate,
			Entries:       []entry{},
		}
		for _, detail := range one.GetEntries() {
			found.Entries = append(found.Entries, entryOf(detail))
		}
		answer.Batches = append(answer.Batches, found)
	}
	return answer
}

func entryOf(detail *ach.EntryDetail) entry {
	found := entry{
		TransactionCode: detail.TransactionCode,
		ReceivingDfi:    detail.RDFIIdentification + detail.CheckDigit,
		AccountNumber:   strings.TrimSpace(detail.DFIAccountNumber),
		Amount:          detail.Amount,
		IndividualID:    strings.TrimSpace(detail.IdentificationNumber),
		IndividualName:  strings.TrimSpace(detail.IndividualName),
		TraceNumber:     detail.TraceNumber,
	}
	for _, addenda := range detail.Addenda05 {
		found.Information += strings.TrimSpace(addenda.PaymentRelatedInformation)
	}
	if addenda := detail.Addenda98; addenda != nil {
		found.ChangeCode = addenda.ChangeCode
		found.OriginalTrace = addenda.OriginalTrace
		found.CorrectedData = addenda.CorrectedData
	}
	if addenda := detail.Addenda99; addenda != nil {
		found.Reason = addenda.ReturnCode
		found.OriginalTrace = addenda.OriginalTrace
		found.DateOfDeath = addenda.DateOfDeath
	}
	if addenda := detail.Addenda99Dishonored; addenda != nil {
		found.Reason = addenda.DishonoredReturnReasonCode
		found.OriginalTrace = addenda.OriginalEntryTraceNumber
	}
	if addenda := detail.Addenda99Contested; addenda != nil {
		found.Reason = addenda.ContestedReturnCode
		found.OriginalTrace = addenda.OriginalEntryTraceNumber
	}
	return found
}
