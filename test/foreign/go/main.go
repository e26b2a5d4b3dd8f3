// Command account is a client of the REST API. It reads one command per line and prints one line for each.
package main

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package client -o client/client.gen.go ../../../rest/openapi.json

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	"example.test/account/client"
)

type session struct {
	account       *client.ClientWithResponses
	inboxTag      *string
	workspacesTag *string
}

var (
	ctx      = context.Background()
	commands = map[string]func(s *session, args []string) string{
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
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("ACCOUNT_TOKEN"))
		return nil
	}
	options := client.WithRequestEditorFn(authorize)
	s := &session{account: must(client.NewClientWithResponses(os.Getenv("ACCOUNT_URL"), options))}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		fmt.Println(commands[words[0]](s, words[1:]))
	}
}

// must ends the program if there is an error: the tests read one line for each command.
func must[Value any](value Value, err error) Value {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// inbox lists notifications, optionally of some kinds only, or reports that they are unchanged since the last call.
func (s *session) inbox(kinds []string) string {
	params := &client.NotificationsParams{IfNoneMatch: s.inboxTag}
	if len(kinds) > 0 {
		wanted := []client.NotificationKind{}
		for _, kind := range kinds {
			wanted = append(wanted, client.NotificationKind(kind))
		}
		params = &client.NotificationsParams{Kind: &wanted}
	}
	reply := must(s.account.NotificationsWithResponse(ctx, params))
	switch {
	case reply.JSON200 != nil:
		s.inboxTag = &reply.Headers200.ETag
		return join(reply.JSON200.Notifications, describe)
	case reply.Headers304 != nil && reply.Headers304.ETag == *s.inboxTag:
		return "unchanged"
	}
	return explain(reply)
}

// page lists `limit` notifications after the first `offset`.
func (s *session) page(args []string) string {
	limit, offset := must(strconv.Atoi(args[0])), must(strconv.Atoi(args[1]))
	params := &client.NotificationsParams{Limit: &limit, Offset: &offset}
	reply := must(s.account.NotificationsWithResponse(ctx, params))
	if reply.JSON200 == nil {
		return explain(reply)
	}
	return join(reply.JSON200.Notifications, describe)
}

func join[Item any](items []Item, format func(Item) string) string {
	lines := []string{}
	for _, item := range items {
		lines = append(lines, format(item))
	}
	return strings.Join(lines, "; ")
}

// describe formats a notification using the payload of its kind.
func describe(notification client.Notification) string {
	switch it := must(notification.ValueByDiscriminator()).(type) {
	case client.PlanRequestedNotification:
		return "plan: " + it.Payload.Summary
	case client.QuestionRequestedNotification:
		return "question: " + it.Payload.Input.Questions[0].Question
	case client.TaskFailedNotification:
		return "failed: " + *it.Payload.Message
	case client.TaskResponseReadyNotification:
		return fmt.Sprintf("%s: %s", it.Payload.TaskStatus, *it.Payload.Message)
	}
	return "unexpected variant"
}

func (s *session) workspaces(_ []string) string {
	params := &client.WorkspacesParams{IfNoneMatch: s.workspacesTag}
	reply := must(s.account.WorkspacesWithResponse(ctx, params))
	switch {
	case reply.JSON200 != nil:
		s.workspacesTag = &reply.Headers200.ETag
		return join(reply.JSON200.Workspaces, describeWorkspace)
	case reply.Headers304 != nil:
		return "unchanged"
	case reply.Headers429 != nil && reply.Headers429.RetryAfter > 0:
		return "rate_limited: wait"
	}
	return explain(reply)
}

func describeWorkspace(workspace client.Workspace) string {
	if workspace.ErrorMessage != nil {
		return fmt.Sprintf("%s %s: %s", workspace.Id, workspace.Status, *workspace.ErrorMessage)
	}
	return fmt.Sprintf("%s %s on %d", workspace.Id, workspace.Status, workspace.Hardware.Cpus)
}

func (s *session) dismiss(args []string) string {
	reply := must(s.account.DismissNotificationWithResponse(ctx, args[0]))
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON404, reply.JSON422)
	}
	return string(must(reply.JSON200.Notification.AsTaskFailedNotification()).Status)
}

// preferences lists the kinds with email notifications.
func (s *session) preferences(_ []string) string {
	reply := must(s.account.NotificationPreferencesWithResponse(ctx))
	if reply.JSON200 == nil {
		return explain(reply)
	}
	mailed := []string{}
	for _, preference := range reply.JSON200.Preferences {
		if preference.EmailEnabled {
			mailed = append(mailed, string(preference.NotificationKind))
		}
	}
	return strings.Join(mailed, " ")
}

// mail enables email notifications for these kinds only.
func (s *session) mail(kinds []string) string {
	changes := []client.NotificationPreferenceChange{{PushEnabled: true, ChatDmEnabled: true}}
	for _, word := range kinds {
		kind := client.NotificationKind(word)
		change := client.NotificationPreferenceChange{
			NotificationKind: &kind, EmailEnabled: true, PushEnabled: true, ChatDmEnabled: true,
		}
		changes = append(changes, change)
	}
	update := client.NotificationPreferencesUpdate{Preferences: changes}
	reply := must(s.account.UpdateNotificationPreferencesWithResponse(ctx, update))
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON422)
	}
	return fmt.Sprintf("%d stored", len(reply.JSON200.Preferences))
}

func (s *session) connect(args []string) string {
	pair := client.EditorSubscription{AccessToken: args[0], RefreshToken: args[1]}
	reply := must(s.account.StoreEditorSubscriptionWithResponse(ctx, pair))
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON422)
	}
	return string(reply.JSON200.Auth.Type)
}

func (s *session) editor(_ []string) string {
	reply := must(s.account.EditorAuthWithResponse(ctx))
	switch {
	case reply.JSON200 == nil:
		return explain(reply)
	case reply.JSON200.NeedsReauth:
		return fmt.Sprintf("%s, %s", reply.JSON200.Auth.Type, *reply.JSON200.ReauthReason)
	}
	return string(reply.JSON200.Auth.Type)
}

func (s *session) disconnect(_ []string) string {
	reply := must(s.account.DeleteEditorAuthWithResponse(ctx))
	if reply.StatusCode() == 204 {
		return "disconnected"
	}
	return explain(reply)
}

// failure is implemented by every reply.
type failure interface {
	StatusCode() int
	GetJSON400() *client.ErrorResponse
	GetJSON401() *client.ErrorResponse
	GetJSON403() *client.ErrorResponse
	GetJSON429() *client.ErrorResponse
}

// explain formats the parsed body of an error. `others` are the bodies of statuses that only some replies have.
func explain(reply failure, others ...*client.ErrorResponse) string {
	bodies := append(others, reply.GetJSON400(), reply.GetJSON401(), reply.GetJSON403(), reply.GetJSON429())
	for _, body := range bodies {
		if body != nil {
			return string(body.Code) + ": " + advise(body)
		}
	}
	return fmt.Sprintf("unexpected status %d", reply.StatusCode())
}

// advise says what the user can do about an error.
func advise(body *client.ErrorResponse) string {
	switch body.Code {
	case client.Unauthenticated:
		return "sign in"
	case client.Forbidden:
		return "get a wider token"
	case client.OrgMembershipRequired:
		return "join an organization"
	case client.RateLimited:
		return "wait"
	case client.BadRequest, client.ValidationFailed:
		return join(*body.Errors, func(item client.ErrorItem) string { return item.Location + " " + item.Message })
	}
	return body.Error
}
