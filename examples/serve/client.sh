#!/bin/sh
# Asks `greville serve` with curl. What is sent again after an error has the same Idempotency-Key,
# so that nothing is learned twice.
#
#     ./client.sh predict '{"id": 17, "inlet": 0.2, "outlet": -1.1, "level": 0.4}'
#     ./client.sh learn '{"id": 17, "flow": 0.83}'
#     ./client.sh learn @rows.jsonl          # a row on each line of a file
#     ./client.sh model
#
# GREVILLE_URL is the address, http://127.0.0.1:8000 without it; GREVILLE_TOKEN_FILE a file with the
# token, if the server wants one; GREVILLE_WAITS the seconds between attempts.
set -eu

url=${GREVILLE_URL:-http://127.0.0.1:8000}
waits=${GREVILLE_WAITS:-1 2 4 8}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

usage() {
    echo "usage: $0 predict|learn|unlearn ROWS, or $0 model" >&2
    exit 2
}

# The token goes to curl through a pipe: the list of processes shows the arguments to everyone.
secret() {
    if [ -n "${GREVILLE_TOKEN_FILE:-}" ]; then
        printf 'header = "Authorization: Bearer %s"\n' "$(cat "$GREVILLE_TOKEN_FILE")"
    fi
}

# Not with curl's own --retry: that gives up when a connection breaks, or sends again what was
# refused.
ask() {
    for wait in $waits last; do
        status=$(secret | curl --config - --silent --show-error --max-time 60 \
            --output "$answer" --write-out '%{http_code}' "$@") || status=none
        case $status in
            2*)
                cat "$answer"
                echo
                return
                ;;
            none | 408 | 429 | 502 | 503 | 504)
                [ "$wait" = last ] || sleep "$wait"
                ;;
            *) break ;;
        esac
    done
    [ "$status" = none ] || echo "$0: status $status: $(cat "$answer")" >&2
    exit 1
}

[ $# -ge 1 ] || usage
case $1 in
    model)
        ask "$url/model"
        ;;
    predict | learn | unlearn)
        [ $# -eq 2 ] || usage
        case $2 in
            @*) kind=application/x-ndjson ;;
            *) kind=application/json ;;
        esac
        key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
        ask --header "Content-Type: $kind" --header "Idempotency-Key: $key" \
            --data-binary "$2" "$url/$1"
        ;;
    *)
        usage
        ;;
esac
