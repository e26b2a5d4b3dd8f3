package main

import (
	"context"
	"fmt"
	"strings"

	"example.test/account/client"
)

func (s *session) dismiss(ctx context.Context, args []string) (string, error) {
	reply, err := s.account.DismissNotificationWithResponse(ctx, args[0])
	if err != nil {
		return "", err
	}
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON404, reply.JSON422)
	}
	failed, err := reply.JSON200.Notification.AsTaskFailedNotification()
	return string(failed.Status), err
}

// preferences lists the kinds with email notifications.
func (s *session) preferences(ctx context.Context, _ []string) (string, error) {
	reply, err := s.account.NotificationPreferencesWithResponse(ctx)
	if err != nil {
		return "", err
	}
	if reply.JSON200 == nil {
		return explain(reply)
	}
	mailed := []string{}
	for _, preference := range reply.JSON200.Preferences {
		if preference.EmailEnabled {
			mailed = append(mailed, string(preference.NotificationKind))
		}
	}
	return strings.Join(mailed, " "), nil
}

// mail enables email notifications for these kinds only.
func (s *session) mail(ctx context.Context, kinds []string) (string, error) {
	changes := []client.NotificationPreferenceChange{{PushEnabled: true, ChatDmEnabled: true}}
	for _, word := range kinds {
		kind := client.NotificationKind(word)
		change := client.NotificationPreferenceChange{
			NotificationKind: &kind, EmailEnabled: true, PushEnabled: true, ChatDmEnabled: true,
		}
		changes = append(changes, change)
	}
	update := client.NotificationPreferencesUpdate{Preferences: changes}
	reply, err := s.account.UpdateNotificationPreferencesWithResponse(ctx, update)
	if err != nil {
		return "", err
	}
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON422)
	}
	return fmt.Sprintf("%d stored", len(reply.JSON200.Preferences)), nil
}

func (s *session) connect(ctx context.Context, args []string) (string, error) {
	pair := client.EditorSubscription{AccessToken: args[0], RefreshToken: args[1]}
	reply, err := s.account.StoreEditorSubscriptionWithResponse(ctx, pair)
	if err != nil {
		return "", err
	}
	if reply.JSON200 == nil {
		return explain(reply, reply.JSON422)
	}
	return string(reply.JSON200.Auth.Type), nil
}

func (s *session) editor(ctx context.Context, _ []string) (string, error) {
	reply, err := s.account.EditorAuthWithResponse(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case reply.JSON200 == nil:
		return explain(reply)
	case reply.JSON200.NeedsReauth:
		return fmt.Sprintf("%s, %s", reply.JSON200.Auth.Type, *reply.JSON200.ReauthReason), nil
	}
	return string(reply.JSON200.Auth.Type), nil
}

func (s *session) disconnect(ctx context.Context, _ []string) (string, error) {
	reply, err := s.account.DeleteEditorAuthWithResponse(ctx)
	if err != nil {
		return "", err
	}
	if reply.StatusCode() == 204 {
		return "disconnected", nil
	}
	return explain(reply)
}
