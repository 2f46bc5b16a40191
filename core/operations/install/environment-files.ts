import { quoteForShell } from "../../values/text/shell-words.ts";

type Variables = Readonly<Record<string, string>>;

/** Quotes a word for fish, where the backslash is also special between single quotes. */
const quoteForFish = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const header = "# Written by `meter init --apps`; `meter uninstall` removes it.";

/** The comment at the start of the files of both kinds of shells. */
const about = [
  "# Sets these variables while the meter's daemon runs and restores them while it does not, so that programs keep working",
  "# after the daemon was stopped or has crashed. bash, zsh and fish check this before each prompt. A variable that you",
  "# change yourself keeps your value until the daemon starts or stops.",
];

/** The variables into which `read` splits `/proc/<pid>/stat`: fields 1 to 22 and the rest. Only two of them are used. */
const statFields = Array.from({ length: 23 }, (_, index) => {
  if (index === 2) return "__meter_state";
  return index === 21 ? "__meter_began" : "__meter_rest";
}).join(" ");

/** Returns a pattern for the port of the proxy that the variables name; any port if they name none. */
const portPattern = ({ HTTPS_PROXY }: Variables): string => /:(\d+)\/?$/.exec(HTTPS_PROXY ?? "")?.[1] ?? "*";

/** Functions that set a variable and keep what it was, and that restore it. */
const useAndDrop = [
  "__meter_use() {",
  `  eval "__meter_now=\\\${$1-}"`,
  '  if [ "$__meter_now" != "$2" ]; then',
  '    if [ -n "$__meter_now" ]; then eval "export METER_BEFORE_$1=\\"\\$__meter_now\\""; fi',
  '    eval "export $1=\\"\\$2\\""',
  "  fi",
  "}",
  "__meter_drop() {",
  `  eval "__meter_now=\\\${$1-}"`,
  '  if [ "$__meter_now" = "$2" ]; then',
  `    eval "__meter_now=\\\${METER_BEFORE_$1-}"`,
  '    unset "$1" "METER_BEFORE_$1"',
  '    if [ -n "$__meter_now" ]; then eval "export $1=\\"\\$__meter_now\\""; fi',
  "  fi",
  "}",
];

/** Updates the variables now, and before each prompt of bash and zsh. */
const updateAtPrompt = [
  "__meter_last=",
  "__meter_update || :",
  "case $- in *i*)",
  `  if [ -n "\${BASH_VERSION-}" ]; then`,
  `    case ";\${PROMPT_COMMAND-};" in`,
  '      *";__meter_update;"*) ;;',
  `      *) PROMPT_COMMAND="__meter_update\${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;`,
  "    esac",
  `  elif [ -n "\${ZSH_VERSION-}" ]; then`,
  "    # In quotes, because other shells cannot parse the brackets.",
  `    eval 'case " \${precmd_functions[*]-} " in`,
  '      *" __meter_update "*) ;;',
  "      *) precmd_functions+=(__meter_update) ;;",
  "    esac'",
  "  fi ;;",
  "esac",
];

/**
 * Returns a file for bash, zsh and other POSIX shells to source. It reads the daemon's process id from `stateFile`
 * (`daemon.json`) and starts no program. On Linux, it also checks that this process is not a zombie or stopped, and that it
 * started when the daemon did: after a crash, another process may have the same id. A daemon that listens on another port
 * counts as not running, since these variables would lead to a closed port.
 *
 * Decision: the port itself is not tried. If its queue is full, a connection would keep the prompt waiting.
 */
export const shellFile = (variables: Variables, stateFile: string): string =>
  [
    header,
    ...about,
    ...useAndDrop,
    "__meter_each() {",
    ...Object.entries(variables).map(([name, value]) => `  "$1" ${name} ${quoteForShell(value)}`),
    "}",
    "__meter_update() {",
    "  __meter_status=$?",
    "  __meter_pid=",
    "  __meter_start=",
    "  __meter_port=",
    `  if [ -r ${quoteForShell(stateFile)} ]; then`,
    "    while read -r __meter_key __meter_value; do",
    `      case $__meter_key in`,
    `        '"pid":') __meter_pid=\${__meter_value%,} ;;`,
    `        '"process_start":') __meter_start=\${__meter_value%,} ;;`,
    `        '"proxy_port":') __meter_port=\${__meter_value%,} ;;`,
    "      esac",
    `    done < ${quoteForShell(stateFile)}`,
    "  fi",
    "  case $__meter_pid in *[!0-9]*) __meter_pid= ;; esac",
    `  case $__meter_port in '' | ${portPattern(variables)}) ;; *) __meter_pid= ;; esac`,
    "  __meter_next=__meter_drop",
    '  if [ -n "$__meter_pid" ] && kill -0 "$__meter_pid" 2>/dev/null; then',
    "    __meter_next=__meter_use",
    '    if [ -r "/proc/$__meter_pid/stat" ]; then',
    "      __meter_state=Z __meter_began=",
    `      { IFS=' ' read -r ${statFields} <"/proc/$__meter_pid/stat"; } 2>/dev/null || :`,
    "      case $__meter_state in [ZXT]) __meter_next=__meter_drop ;; esac",
    `      case $__meter_start in '' | "$__meter_began") ;; *) __meter_next=__meter_drop ;; esac`,
    "    fi",
    "  fi",
    `  if [ "$__meter_next" != "\${__meter_last-}" ]; then`,
    "    __meter_last=$__meter_next",
    '    __meter_each "$__meter_next"',
    "  fi",
    "  return $__meter_status",
    "}",
    ...updateAtPrompt,
    "",
  ].join("\n");

/** The functions of `useAndDrop` for fish. */
const fishUseAndDrop = [
  "function __meter_use",
  "    set -l name $argv[1]",
  "    set -l now $$name",
  '    if test "$now" != "$argv[2]"',
  '        if test -n "$now"',
  "            set -gx METER_BEFORE_$name $now",
  "        end",
  "        set -gx $name $argv[2]",
  "    end",
  "end",
  "function __meter_drop",
  "    set -l name $argv[1]",
  "    set -l before METER_BEFORE_$name",
  "    set -l now $$name",
  '    if test "$now" = "$argv[2]"',
  "        set -l earlier $$before",
  "        set -eg $name",
  "        set -eg $before",
  '        if test -n "$earlier"',
  "            set -gx $name $earlier",
  "        end",
  "    end",
  "end",
];

/** Returns the same file for fish. */
export const fishFile = (variables: Variables, stateFile: string): string =>
  [
    header,
    ...about,
    ...fishUseAndDrop,
    "function __meter_each",
    ...Object.entries(variables).map(([name, value]) => `    $argv[1] ${name} ${quoteForFish(value)}`),
    "end",
    "function __meter_update --on-event fish_prompt",
    "    set -l previous $status",
    "    set -l next __meter_drop",
    `    if test -r ${quoteForFish(stateFile)}`,
    `        set -l id (string replace -rf '^\\s*"pid": (\\d+).*$' '$1' <${quoteForFish(stateFile)})`,
    `        set -l port (string replace -rf '^\\s*"proxy_port": (\\d+).*$' '$1' <${quoteForFish(stateFile)})`,
    `        if test -n "$port"; and not string match -q "${portPattern(variables)}" "$port"`,
    "            set id",
    "        end",
    `        set -l start (string replace -rf '^\\s*"process_start": (\\d+).*$' '$1' <${quoteForFish(stateFile)})`,
    '        if test -n "$id"; and kill -0 $id 2>/dev/null',
    "            set next __meter_use",
    "            if test -r /proc/$id/stat",
    "                set -l fields",
    "                read -d ' ' -a fields </proc/$id/stat 2>/dev/null",
    '                if contains -- "$fields[3]" "" Z X T',
    "                    set next __meter_drop",
    '                else if test -n "$start"; and test "$start" != "$fields[22]"',
    "                    set next __meter_drop",
    "                end",
    "            end",
    "        end",
    "    end",
    '    if test "$next" != "$__meter_last"',
    "        set -g __meter_last $next",
    "        __meter_each $next",
    "    end",
    "    return $previous",
    "end",
    "set -g __meter_last ''",
    "__meter_update",
    "",
  ].join("\n");

/**
 * Returns the file for environment.d(5), which systemd reads when a session starts. Quotes keep spaces. A dollar sign
 * starts a variable even in quotes, unless it is doubled.
 */
export const sessionFile = (variables: Variables): string =>
  [
    header,
    ...Object.entries(variables).map(
      ([name, value]) => `${name}="${value.replaceAll(/[\\"`]/g, "\\$&").replaceAll("$", "$$$$")}"`,
    ),
    "",
  ].join("\n");

const notice = "# Managed by `meter init --apps`; `meter uninstall` removes these lines.";

/** Returns the lines for the start file of a POSIX shell. They do nothing if the file does not exist. */
export const shellBlock = (file: string): string[] => [
  notice,
  `if [ -r ${quoteForShell(file)} ]; then . ${quoteForShell(file)}; fi`,
];

/** Returns the lines for the start file of fish. */
export const fishBlock = (file: string): string[] => [
  notice,
  `if test -r ${quoteForFish(file)}; source ${quoteForFish(file)}; end`,
];
