package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.test/account/client"
)

// inbox lists notifications, optionally of some kinds only, or reports that they are unchanged since the last call.
func (s *session) inbox(ctx context.Context, kinds []string) (string, error) {
	params := &client.NotificationsParams{IfNoneMatch: s.inboxTag}
	if len(kinds) > 0 {
		wanted := []client.NotificationKind{}
		for _, kind := range kinds {
			wanted = append(wanted, client.NotificationKind(kind))
		}
		params = &client.NotificationsParams{Kind: &wanted}
	}
	reply, err := s.account.NotificationsWithResponse(ctx, params)
	if err != nil {
		return "", err
	}
	switch {
	case reply.JSON200 != nil:
		s.inboxTag = &reply.Headers200.ETag
		return describeAll(reply.JSON200.Notifications)
	case reply.Headers304 != nil && reply.Headers304.ETag == *s.inboxTag:
		return "unchanged", nil
	}
	return explain(reply)
}

// page lists `limit` notifications after the first `offset`.
func (s *session) page(ctx context.Context, args []string) (string, error) {
	limit, _ := strconv.Atoi(args[0])
	offset, _ := strconv.Atoi(args[1])
	reply, err := s.account.NotificationsWithResponse(ctx, &client.NotificationsParams{Limit: &limit, Offset: &offset})
	if err != nil {
		return "", err
	}
	if reply.JSON200 == nil {
		return explain(reply)
	}
	return describeAll(reply.JSON200.Notifications)
}

func describeAll(notifications []client.Notification) (string, error) {
	lines := []string{}
	for _, notification := range notifications {
		line, err := describe(notification)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; "), nil
}

// describe formats a notification using the payload of its kind.
func describe(notification client.Notification) (string, error) {
	variant, err := notification.ValueByDiscriminator()
	if err != nil {
		return "", err
	}
	switch it := variant.(type) {
	case client.PlanRequestedNotification:
		return "plan: " + it.Payload.Summary, nil
	case client.QuestionRequestedNotification:
		return "question: " + it.Payload.Input.Questions[0].Question, nil
	case client.TaskFailedNotification:
		return "failed: " + *it.Payload.Message, nil
	case client.TaskResponseReadyNotification:
		return fmt.Sprintf("%s: %s", it.Payload.TaskStatus, *it.Payload.Message), nil
	}
	return "", fmt.Errorf("unexpected variant %T", variant)
}

func (s *session) workspaces(ctx context.Context, _ []string) (string, error) {
	reply, err := s.account.WorkspacesWithResponse(ctx, &client.WorkspacesParams{IfNoneMatch: s.workspacesTag})
	if err != nil {
		return "", err
	}
	switch {
	case reply.JSON200 != nil:
		s.workspacesTag = &reply.Headers200.ETag
		lines := []string{}
		for _, workspace := range reply.JSON200.Workspaces {
			line := fmt.Sprintf("%s %s on %d", workspace.Id, workspace.Status, workspace.Hardware.Cpus)
			if workspace.ErrorMessage != nil {
				line = fmt.Sprintf("%s %s: %s", workspace.Id, workspace.Status, *workspace.ErrorMessage)
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "; "), nil
	case reply.Headers304 != nil:
		return "unchanged", nil
	case reply.Headers429 != nil && reply.Headers429.RetryAfter > 0:
		return "rate_limited: wait", nil
	}
	return explain(reply)
}
