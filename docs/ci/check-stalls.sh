#!/bin/sh
# Check a running server for stalls in CI: check-stalls.sh URL
#
# Exits as `ackwise check` does: 0 no stall, 1 a stall, 2 no verdict (a busy machine, a server that does not run). Shows
# the card in the log and in the job's summary, and posts it as a comment on the pull request unless the code is 0.
#
# JUNIT: also write the checks as tests to this file. BASELINE: let only count what this earlier `--json` does not have.
# PULL_REQUEST: number of the pull request, for the comment; needs gh and its GH_TOKEN. Empty: no comment.
set -u

url=$1
set --
[ -z "${JUNIT:-}" ] || set -- "$@" --junit "$JUNIT"
[ -z "${BASELINE:-}" ] || set -- "$@" --baseline "$BASELINE"

card=$(mktemp)
errors=$(mktemp)
trap 'rm -f "$card" "$errors"' EXIT

code=2
for attempt in 1 2 3; do
    ackwise check --quick --markdown "$@" "$url" >"$card" 2>"$errors"
    code=$?
    cat "$errors" >&2
    # A disturbance, or a server that is not up yet, may be over in a moment; anything else stays.
    [ "$code" -eq 2 ] || break
    grep -q -e "run the check again" -e "cannot connect" "$errors" || break
    sleep "$attempt"
done

cat "$card"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$card" >>"$GITHUB_STEP_SUMMARY"
fi
if [ "$code" -ne 0 ] && [ -s "$card" ] && [ -n "${PULL_REQUEST:-}" ]; then
    gh pr comment "$PULL_REQUEST" --body-file "$card" || echo "cannot post the comment" >&2
fi
exit "$code"
