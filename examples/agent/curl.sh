#!/bin/sh
# Asks the user which option to take, waits until they answer in their inbox, and prints the request with the answer as JSON.
# Needs GATEWAY_URL, TASK_TOKEN, USER_ID, TASK_ID and PROJECT_ID, whose values need no escapes.
set -e
: "${GATEWAY_URL:?}" "${TASK_TOKEN:?}" "${USER_ID:?}" "${TASK_ID:?}" "${PROJECT_ID:?}"
id="$TASK_ID:database"

# Sends an operation and its variables, again after a failure that may pass: with this ID, a repetition changes nothing.
# Fails if the reply has errors.
send() {
  sent=$(curl -sS --fail --retry 5 --retry-all-errors "$GATEWAY_URL/graphql" -H "Authorization: Bearer $TASK_TOKEN" \
    -H 'Content-Type: application/json' --data-binary "{\"query\":\"$1\",\"variables\":$2}") || return 1
  case $sent in *'"errors":['*) echo "$sent" >&2 && return 1 ;; esac
  echo "$sent"
}

send 'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }' '{"input":{
  "userId":"'"$USER_ID"'","id":"'"$id"'","task":{"id":"'"$TASK_ID"'","projectId":"'"$PROJECT_ID"'"},
  "title":"Which database should the cart use?","supersedes":"NOTHING","expiresInSeconds":86400,
  "payload":{"questionRequested":{"toolId":"database","input":{"questions":[{
    "question":"Which database should the cart use?","options":[{"label":"PostgreSQL"},{"label":"Redis"}]}]}}}}}' >&2

key='"userId":"'"$USER_ID"'","notificationId":"'"$id"'"'
answer='state answer { questions { labels other } }'
while :; do
  reply=$(send "query (\$userId: ID!, \$notificationId: ID!) { request(userId: \$userId, notificationId: \$notificationId, waitSeconds: 50) { $answer } }" "{$key}")
  case $reply in *'"OPEN"'*) ;; *) break ;; esac
done

# The user sees that the answer has arrived.
case $reply in *'"ANSWERED"'*)
  send 'mutation ($input: AcknowledgeAnswerInput!) { acknowledgeAnswer(input: $input) { __typename } }' \
    "{\"input\":{$key,\"outcome\":\"ACCEPTED\"}}" >&2 ;;
esac
echo "$reply"
