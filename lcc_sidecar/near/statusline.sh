#!/bin/sh
# The status line: the client's JSON on stdin, one line on stdout, nothing else whatever happens.
# Claude Code runs it all the time, so it is a shell's: an interpreter takes ten times as long.
#
# "$1" is the folder in which the sidecar keeps, a file a session, what could go. That a session's
# file is there asks for it, so this makes an empty one; the first number is the client's own.

exec 2>/dev/null
said=
while IFS= read -r line || [ -n "$line" ]; do said=$said$line; done

# Cut at its quotation marks: a name is one word then, what stands behind it the next.
session='' depth=0 percent='' before='' last=''
IFS='"'
set -f
for word in $said; do
  case $before$last in session_id: | 'session_id: ') session=${session:-$word} ;; esac
  if [ "$depth" -gt 0 ]; then # inside the window's object; others have percentages, too
    [ "$depth$last" = 1used_percentage ] && percent=${percent:-$word}
    case $word in # more at once than a window has: no figure, as it could be a wrong one
      *'{'*'{'* | *'}'*'}'*'}'*) depth=0 ;;
      *'{'*) depth=$((depth + 1)) ;;
    esac
    case $word in *'}'*'}'*) depth=$((depth - 2)) ;; *'}'*) depth=$((depth - 1)) ;; esac
  elif [ "$last" = context_window ]; then
    case $word in *'}'*) ;; :'{'* | ': {'*) depth=1 ;; esac
  fi
  before=$last last=$word
done
case $session in '' | *[!0-9A-Za-z_-]*) exit 0 ;; esac
[ "${#session}" -le 128 ] || exit 0

could_go='' file=$1/$session
if [ -L "$file" ]; then
  : # nobody follows it
elif [ -f "$file" ]; then
  IFS= read -r could_go <"$file"
elif ! [ -e "$file" ]; then
  umask 077 && mkdir -p "$1" && printf '' >>"$file"
fi

percent=${percent#:}
percent=${percent# }
percent=${percent%%[!0-9.eE+-]*}
case $percent in *[!0-9.]* | 0[0-9]*) percent='' ;; esac
percent=${percent%%.*}
fill=
if [ -n "$percent" ]; then
  case $percent in ???*) percent=100 ;; esac
  full=$(((percent + 5) / 10)) cell=0
  while [ "$cell" -lt 10 ]; do
    if [ "$cell" -lt "$full" ]; then fill=${fill}█; else fill=${fill}░; fi
    cell=$((cell + 1))
  done
  fill="$fill $percent%"
fi
printf '%s\n' "$fill${fill:+${could_go:+  }}$could_go"
exit 0
