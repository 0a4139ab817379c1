// Reads BAI2 files with moov-io/bai2, an implementation that shares nothing with ours, and prints what it found in
// them: one line of JSON for each path on the standard input. tests/bank-statements-judge.spec.ts builds and runs it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/moov-io/bai2/pkg/lib"
)

type summary struct {
	TypeCode string `json:"typeCode"`
	Amount   string `json:"amount"`
	Count    int64  `json:"count"`
}

type detail struct {
	TypeCode string `json:"typeCode"`
	Amount   string `json:"amount"`
	Date     string `json:"date"`
	BankRef  string `json:"bankReference"`
	Customer string `json:"reference"`
	Text     string `json:"text"`
}

type account struct {
	Number    string    `json:"number"`
	Currency  string    `json:"currency"`
	Total     string    `json:"total"`
	Records   int64     `json:"records"`
	Summaries []summary `json:"summaries"`
	Details   []detail  `json:"details"`
}

type group struct {
	AsOf     string    `json:"asOf"`
	Total    string    `json:"total"`
	Records  int64     `json:"records"`
	Count    int64     `json:"count"`
	SumTotal string    `json:"sumTotal"`
	SumCount int64     `json:"sumCount"`
	SumLines int64     `json:"sumRecords"`
	Accounts []account `json:"accounts"`
}

type verdict struct {
	Path     string  `json:"path"`
	Problem  string  `json:"problem"`
	Sender   string  `json:"sender"`
	Receiver string  `json:"receiver"`
	Total    string  `json:"total"`
	Records  int64   `json:"records"`
	Count    int64   `json:"count"`
	SumTotal string  `json:"sumTotal"`
	SumCount int64   `json:"sumCount"`
	SumLines int64   `json:"sumRecords"`
	Groups   []group `json:"groups"`
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
	answer := verdict{Path: path, Groups: []group{}}
	input, err := os.Open(path)
	if err != nil {
		answer.Problem = err.Error()
		return answer
	}
	defer input.Close()
	scan := lib.NewBai2Scanner(input)
	file := lib.NewBai2()
	if err = file.Read(&scan); err == nil {
		err = file.Validate()
	}
	if err == nil {
		answer.SumTotal, err = file.SumGroupControlTotals()
	}
	if err != nil {
		answer.Problem = err.Error()
		return answer
	}
	answer.Sender = file.Sender
	answer.Receiver = file.Receiver
	answer.Total = file.FileControlTotal
	answer.Records = file.NumberOfRecords
	answer.Count = file.NumberOfGroups
	answer.SumCount = file.SumNumberOfGroups()
	answer.SumLines = file.SumRecords()
	for _, one := range file.Groups {
		found, err := groupOf(one)
		if err != nil {
			answer.Problem = err.Error()
			return answer
		}
		answer.Groups = append(answer.Groups, found)
	}
	return answer
}

func groupOf(one lib.Group) (group, error) {
	sum, err := one.SumAccountControlTotals()
	found := group{
		AsOf:     one.AsOfDate,
		Total:    one.GroupControlTotal,
		Records:  one.NumberOfRecords,
		Count:    one.NumberOfAccounts,
		SumTotal: sum,
		SumCount: one.SumNumberOfAccounts(),
		SumLines: one.SumRecords(),
		Accounts: []account{},
	}
	for _, each := range one.Accounts {
		found.Accounts = append(found.Accounts, accountOf(each))
	}
	return found, err
}

func accountOf(one lib.Account) account {
	found := account{
		Number:    one.AccountNumber,
		Currency:  one.CurrencyCode,
		Total:     one.AccountControlTotal,
		Records:   one.NumberRecords,
		Summaries: []summary{},
		Details:   []detail{},
	}
	for _, each := range one.Summaries {
		found.Summaries = append(found.Summaries, summary{each.TypeCode, each.Amount, each.ItemCount})
	}
	for _, each := range one.Details {
		found.Details = append(found.Details, detail{
			TypeCode: each.TypeCode,
			Amount:   each.Amount,
			Date:     each.FundsType.Date,
			BankRef:  each.BankReferenceNumber,
			Customer: each.CustomerReferenceNumber,
			Text:     each.Text,
		})
	}
	return found
}
