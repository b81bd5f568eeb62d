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
# token, if the server wants one.
set -eu

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

url=${GREVILLE_URL:-http://127.0.0.1:8000}
usage() {
    echo "usage: $0 predict|learn|unlearn ROWS, or $0 model" >&2
    exit 2
}

# The token goes to curl through a pipe: the list of processes shows the arguments to everyone.
ask() {
    {
        if [ -n "${GREVILLE_TOKEN_FILE:-}" ]; then
            printf 'header = "Authorization: Bearer %s"\n' "$(cat "$GREVILLE_TOKEN_FILE")"
        fi
    } | curl --config - --silent --show-error --fail-with-body --max-time 60 "$@"
}

# Again where the server could not be reached, or said that it cannot now; a row that it refuses is
# refused again.
ask_until_answered() {
    for wait in 1 2 4 8 16 0; do
        status=$(ask --output "$answer" --write-out '%{http_code}' "$@" || true)
        case $status in
            000 | 408 | 429 | 5??) [ $wait = 0 ] || sleep $wait ;;
            *) break ;;
        esac
    done
    [ "$status" = 000 ] || { cat "$answer"; echo; }
    case $status in
        2??) ;;
        *) exit 1 ;;
    esac
}

[ $# -ge 1 ] || usage
case $1 in
    model)
        ask_until_answered "$url/model"
        ;;
    predict | learn | unlearn)
        [ $# -eq 2 ] || usage
        case $2 in
            @*) kind=application/x-ndjson ;;
            *) kind=application/json ;;
        esac
        key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
        ask_until_answered --header "Content-Type: $kind" --header "Idempotency-Key: $key" \
            --data-binary "$2" "$url/$1"
        ;;
    *)
        usage
        ;;
esac
