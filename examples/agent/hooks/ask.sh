#!/bin/sh
# A command hook that waits as long as the request lives: ask.sh <url> <file with the token> [deny]
# Repeats the call as long as the gateway replies 202. Failures are reported; with "deny", each is a denial.
body=$(cat) call=$$-$(date +%s)
while :; do
  reply=$(printf %s "$body" | curl -sS -m 70 -w '\n%{http_code}' -H @/dev/fd/3 --data-binary @- "$1&call=$call" 3<<EOF
Authorization: Bearer $(cat "$2")
Content-Type: application/json
EOF
  )
  case $reply in *202) sleep 1 ;; *200) printf %s "${reply%?200}" && exit ;; *) break ;; esac
done
error=$(printf %s "$reply" | sed -nE '/"error":"/{s/.*"error":"(([^"\\]|\\.)*)".*/\1/;s/\\(.)/\1/g;p;}')
echo "Nobody was asked: ${error:-the gateway gave no valid reply.} This is not a refusal by the user." >&2
[ "$3" = deny ] && exit 2 || exit 1
