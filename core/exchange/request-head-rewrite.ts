import { decodeLatin1, encodeLatin1 } from "./bytes.ts";

/** What `rewriteRequestHead` changes. Names are in lower case. */
export interface RequestHeadEdits {
  /** The new request target. */
  readonly target?: string;
  /** New values: the first line of that name keeps its place and spelling, further ones go, a missing one is added last. */
  readonly set?: Readonly<Record<string, string>>;
  /** Names whose lines go; one that ends in `*` stands for all names that begin so. A name in `set` stays. */
  readonly remove?: readonly string[];
}

/**
 * Changes a request head that a reader has reported, and nothing in it but what `edits` names: every other byte, the
 * order and the case stay. A target or value that would break the head is a RangeError.
 */
export function rewriteRequestHead(raw: Uint8Array, edits: RequestHeadEdits): Uint8Array {
  const { target, set = {}, remove = [] } = edits;
  // ISO 8859-1 maps bytes to characters one to one, so that what is not touched comes out as it went in.
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
  // The value itself may be a secret, and does not enter the message.
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
