package main

import (
	"fmt"
	"strings"

	"example.test/account/client"
)

// failure is implemented by every reply.
type failure interface {
	StatusCode() int
	GetJSON400() *client.ErrorResponse
	GetJSON401() *client.ErrorResponse
	GetJSON403() *client.ErrorResponse
	GetJSON429() *client.ErrorResponse
}

// explain formats the parsed body of an error. `others` are the bodies of statuses that only some replies have.
func explain(reply failure, others ...*client.ErrorResponse) (string, error) {
	bodies := append(others, reply.GetJSON400(), reply.GetJSON401(), reply.GetJSON403(), reply.GetJSON429())
	for _, body := range bodies {
		if body != nil {
			return string(body.Code) + ": " + advise(body), nil
		}
	}
	return "", fmt.Errorf("unexpected status %d", reply.StatusCode())
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
		lines := []string{}
		for _, item := range *body.Errors {
			lines = append(lines, item.Location+" "+item.Message)
		}
		return strings.Join(lines, "; ")
	}
	return body.Error
}
