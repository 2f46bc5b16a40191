/** Quotes a word for a POSIX shell. Between single quotes, only the single quote is special. */
export const quoteForShell = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Quotes a word of a command that is shown, if a POSIX shell would otherwise read it as something else. */
export const quoteIfNeeded = (word: string): string =>
  /^[\w.:/@+-][\w.:/@+=-]*$/.test(word) ? word : quoteForShell(word);
