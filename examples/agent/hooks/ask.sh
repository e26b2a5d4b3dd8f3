#!/bin/sh
# A command hook that waits as long as the request lives: ask.sh <url> <file with the token> [deny]
# Repeats the call as long as the gateway replies 202. With "deny", every failure is a denial.
body=$(cat) call=$$-$(date +%s)
while :; do
  reply=$(printf %s "$body" | curl -sS -m 70 -w '\n%{http_code}' -H @/dev/fd/3 --data-binary @- "$1&call=$call" 3<<EOF
Authorization: Bearer $(cat "$2")
Content-Type: application/json
EOF
  )
  case $reply in *202) sleep 1 ;; *200) printf %s "${reply%?200}" && exit ;; *) break ;; esac
done
[ "$3" != deny ] || { echo 'Nobody was asked: the gateway did not reply. This is not a refusal by the user.' >&2 && exit 2; }
