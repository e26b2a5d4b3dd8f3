// Command account is a client of the REST API. It reads one command per line and prints one line for each.
package main

//go:generate go tool oapi-codegen -generate types,client -package client -o client/client.gen.go ../../../rest/openapi.json

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"example.test/account/client"
)

type session struct {
	account       *client.ClientWithResponses
	inboxTag      *string
	workspacesTag *string
}

type command func(s *session, ctx context.Context, args []string) (string, error)

var commands = map[string]command{
	"inbox":       (*session).inbox,
	"page":        (*session).page,
	"dismiss":     (*session).dismiss,
	"preferences": (*session).preferences,
	"mail":        (*session).mail,
	"connect":     (*session).connect,
	"editor":      (*session).editor,
	"disconnect":  (*session).disconnect,
	"workspaces":  (*session).workspaces,
}

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("ACCOUNT_TOKEN"))
		return nil
	}
	account, err := client.NewClientWithResponses(os.Getenv("ACCOUNT_URL"), client.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	s := &session{account: account}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		output, err := commands[words[0]](s, context.Background(), words[1:])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(output)
	}
}
