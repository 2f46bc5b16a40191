import { decodeLatin1, encodeLatin1 } from "./bytes.ts";

/** The changes that `rewriteRequestHead` makes. Names are in lower case. */
export interface RequestHeadEdits {
  /** The new request target. */
  readonly target?: string;
  /** New values by name. The first line of a name keeps its position and spelling; repeats are removed; a missing name is appended. */
  readonly set?: Readonly<Record<string, string>>;
  /** Names to remove. A trailing `*` matches any suffix. Names in `set` are not removed. */
  readonly remove?: readonly string[];
}

/**
 * Applies `edits` to a request head that a reader has reported. All other bytes, the order and the case stay unchanged.
 * Throws a RangeError for a target or value that would corrupt the head.
 */
export function rewriteRequestHead(raw: Uint8Array, edits: RequestHeadEdits): Uint8Array {
  const { target, set = {}, remove = [] } = edits;
  // ISO 8859-1 maps bytes to characters one to one, so that everything else is preserved exactly.
  const [requestLine, ...headerLines] = decodeLatin1(raw).split("\r\n").slice(0, -2) as [string, ...string[]];
  const lines = [target === undefined ? requestLine : withTarget(requestLine, target)];
  const missing = new Set(Object.keys(set));
  for (const line of headerLines) {
    const name = line.slice(0, line.indexOf(":")).toLowerCase();
    if (Object.hasOwn(set, name)) {
      if (missing.delete(name)) lines.push(withValue(line, set[name]!));
    } else if (!isNamedBy(remove, name)) lines.push(line);
  }
  for (const name of missing) lines.push(withValue(`${name}: `, set[name]!));
  return encodeLatin1(`${lines.join("\r\n")}\r\n\r\n`);
}

function withTarget(requestLine: string, target: string): string {
  if (!/^[\x21-\x7e\x80-\xff]+$/.test(target)) {
    throw new RangeError(`Cannot write the request target: ${JSON.stringify(target)}`);
  }
  return `${requestLine.slice(0, requestLine.indexOf(" "))} ${target}${requestLine.slice(requestLine.lastIndexOf(" "))}`;
}

function withValue(line: string, value: string): string {
  const start = /^([!#$%&'*+\-.^_`|~\dA-Za-z]+:[ \t]*)/.exec(line)?.[1];
  if (start === undefined)
    throw new RangeError(`Cannot write a header of this name: ${JSON.stringify(line)}`);
  // The value may be a secret and is not part of the message.
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
    throw new RangeError(`Cannot write the header: its value holds control characters: ${start}`);
  }
  return start + value;
}

function isNamedBy(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}
