#!/bin/sh
# Runs an example of README.md as it stands there: readme.sh c|julia SOURCE_DIR BUILD_DIR COMPILER
set -e
work=$3/readme
mkdir -p "$work"
sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2/README.md" | sed '/^```/d' >"$work/example.$1"
[ -s "$work/example.$1" ] || { echo "README.md has no example in $1"; exit 1; }
case $1 in
  c)
    "$4" -std=c99 -Wall -Wextra -pedantic -Werror -x c "$work/example.c" -x none -o "$work/example" \
      -I"$2/capi" -L"$3" -ltcuops -Wl,-rpath,"$3"
    [ "$("$work/example")" = "3 7 11" ]
    ;;
  julia)
    command -v julia >/dev/null || { echo "skipped: no julia"; exit 77; }
    "$2/tools/install-julia" --check || { echo "skipped: this julia crashes at exceptions"; exit 77; }
    result=$(julia --project="$2" --startup-file=no "$work/example.julia")
    echo "$result"
    [ "$result" = "(1, 33, 1) true true" ]
    ;;
esac
