/** Quotes a word for a POSIX shell. Between single quotes, only the single quote is special. */
export const quoteForShell = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Quotes a word of a command that is shown, if a POSIX shell would otherwise read it as something else. */
export const quoteIfNeeded = (word: string): string =>
  /^[\w.:/@+-][\w.:/@+=-]*$/.test(word) ? word : quoteForShell(word);

/** Quotes an argument of a command that is shown. It comes after the options: behind `--`, a leading hyphen starts none. */
export const quoteArgument = (word: string): string =>
  word.startsWith("-") ? `-- ${quoteIfNeeded(word)}` : quoteIfNeeded(word);

/** Quotes an option of a command that is shown, with its value. With `=`, a leading hyphen of the value starts no option. */
export const quoteOption = (option: string, value: string): string =>
  `${option}${value.startsWith("-") ? "=" : " "}${quoteIfNeeded(value)}`;
