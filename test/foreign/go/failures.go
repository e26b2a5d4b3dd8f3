package main

import (
	"fmt"
	"strings"

	"example.test/account/client"
)

// failure is implemented by every reply that can be an error.
type failure interface {
	StatusCode() int
	GetJSON400() *client.BadRequest
	GetJSON401() *client.Unauthenticated
	GetJSON429() *client.RateLimited
}

// explain formats the parsed body of an error.
func explain(reply failure) (string, error) {
	if body := reply.GetJSON400(); body != nil {
		return explainItems(string(body.Code), body.Errors), nil
	}
	if body := reply.GetJSON401(); body != nil {
		return string(body.Code) + ": sign in", nil
	}
	if body := reply.GetJSON429(); body != nil {
		return string(body.Code) + ": wait", nil
	}
	switch it := reply.(type) {
	case interface{ GetJSON403() *client.Forbidden }:
		if body := it.GetJSON403(); body != nil {
			return string(body.Code) + ": get a wider token", nil
		}
	case interface {
		GetJSON403() *client.ForbiddenOrOrgMembershipRequired
	}:
		if body := it.GetJSON403(); body != nil {
			return explainRefusal(body)
		}
	}
	if it, ok := reply.(interface{ GetJSON404() *client.NotFound }); ok && it.GetJSON404() != nil {
		return string(it.GetJSON404().Code) + ": " + it.GetJSON404().Error, nil
	}
	if it, ok := reply.(interface {
		GetJSON422() *client.ValidationFailed
	}); ok && it.GetJSON422() != nil {
		return explainItems(string(it.GetJSON422().Code), it.GetJSON422().Errors), nil
	}
	return "", fmt.Errorf("unexpected status %d", reply.StatusCode())
}

func explainRefusal(body *client.ForbiddenOrOrgMembershipRequired) (string, error) {
	refusal, err := body.ValueByDiscriminator()
	if err != nil {
		return "", err
	}
	switch it := refusal.(type) {
	case client.Forbidden:
		return string(it.Code) + ": get a wider token", nil
	case client.OrgMembershipRequired:
		return string(it.Code) + ": join an organization", nil
	}
	return "", fmt.Errorf("unexpected refusal %T", refusal)
}

func explainItems(code string, items []client.ErrorItem) string {
	lines := []string{}
	for _, item := range items {
		lines = append(lines, item.Location+" "+item.Message)
	}
	return code + ": " + strings.Join(lines, "; ")
}
