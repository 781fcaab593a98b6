# A kernel test without kernels: what each case does stands in the tree.
#
#   cases/NAME    line 2: what the case NAME does
#   breaks/NAME   if it is there: what it does instead
#   mends/NAME*   if one is there: what it does instead of both
#   parts/NAME    paths that must all be there, else the case is wrong
#   mode          if it is there: what the test as a whole does
# $STATE is a folder that stays from run to run.
tree=$OVERLAID_TREE
mode=
[ -f "$tree/mode" ] && read -r mode < "$tree/mode"
[ "$mode" = nothing ] && exit 0
[ "$mode" = early-crash ] && kill -SEGV $$
say() { printf '%s\n' "{\"case\": {\"n\": \"$n\"}, $1}" >> "$OVERLAID_RESULTS"; }
result() { say "\"metric\": \"rel_err\", \"value\": $1, \"max\": 0.01"; }
for file in "$tree"/cases/*; do
  n=${file##*/}
  line="{\"n\":\"$n\"}"
  if [ -n "$OVERLAID_SKIP" ] && grep -qxF "$line" "$OVERLAID_SKIP"; then continue; fi
  if [ -n "$OVERLAID_ONLY" ] && ! grep -qxF "$line" "$OVERLAID_ONLY"; then continue; fi
  { read -r _; read -r does; } < "$file"
  [ -f "$tree/breaks/$n" ] && read -r does < "$tree/breaks/$n"
  if [ -f "$tree/parts/$n" ]; then
    while read -r part; do [ -f "$tree/$part" ] || does=wrong; done < "$tree/parts/$n"
  fi
  for other in "$tree/mends/$n"*; do
    [ -f "$other" ] && read -r does < "$other"
  done
  [ "$does" = absent ] && continue
  say '"status": "start"'
  case "$does" in
    good) result 0.001 ;;
    wrong) result 0.5 ;;
    nan) result nan ;;
    inf) result inf ;;
    null) result null ;;
    refused) say '"status": "error", "why": "refused"' ;;
    crash) kill -SEGV $$ ;;
    abort) kill -ABRT $$ ;;
    exit) exit 3 ;;
    killed) kill -KILL $$ ;;
    hang) exec sleep 60 ;;
    quiet) : ;;
    skip) say '"status": "skip", "why": "not today"' ;;
    fill)
      say '"metric": "rel_err", "value": 0.001, "max": 0.01, "fill": 0'
      say '"metric": "rel_err", "value": 0.5, "max": 0.01, "fill": 100' ;;
    compiles) say '"needs": "compile", "metric": "errors", "value": 0, "max": 0' ;;
    compiles-not) say '"needs": "compile", "status": "error", "why": "does not compile"' ;;
    twice) result 0.001; result 0.5 ;;
    every*)
      # Fails every so many runs.
      count=0
      [ -f "$STATE/$n" ] && read -r count < "$STATE/$n"
      count=$((count + 1))
      echo "$count" > "$STATE/$n"
      if [ $((count % ${does#every})) = 0 ]; then result 0.5; else result 0.001; fi ;;
    *) say "\"status\": \"error\", \"why\": \"what is $does\"" ;;
  esac
done
[ "$mode" = exit1 ] && exit 1
[ "$mode" = late-crash ] && kill -SEGV $$
[ "$mode" = noise ] && echo 'not a result' && echo 'another line'
exit 0
