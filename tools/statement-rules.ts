import { TABLE_PLACES } from "../cloud/store/table-places.ts";

/** A node of the tree that `libpg-query` returns: PostgreSQL's own parse tree, as JSON. */
type Node = { readonly [key: string]: unknown };

/** A rule that a statement breaks. */
export interface Violation {
  readonly rule:
    | "unbound"
    | "write_in_with"
    | "insert_select"
    | "pulled_insert"
    | "volatile_insert"
    | "volatile_change"
    | "mutable_update"
    | "cast_of_set"
    | "node_lock"
    | "set_config"
    | "spans_places"
    | "read_before_write";
  /** The table or the function. */
  readonly subject: string;
}

/**
 * Functions whose result differs from call to call. In an insert, they make a cluster copy rows, which row-level security refuses. In an
 * update or a delete, a cluster refuses them, even for tables on the coordinator.
 */
const VOLATILE = new Set(["gen_random_uuid", "random", "clock_timestamp", "nextval"]);

/** The immutable functions that statements use in `do update`. A cluster refuses others there. */
const IMMUTABLE = new Set(["encode", "sha256", "replace"]);

/** Functions that return rows. A cluster refuses a cast directly around one. */
const RETURNS_ROWS = new Set([
  "json_array_elements_text",
  "json_array_elements",
  "generate_series",
  "unnest",
]);

const isDistributed = (table: string) =>
  (TABLE_PLACES as Readonly<Record<string, string>>)[table] === "distributed";

/** The names of the common table expressions that are visible in a part of a statement. */
type Scope = ReadonlySet<string>;

/** A table or subquery that a query reads, by its alias. */
interface Source {
  readonly alias: string;
  /** Null for a subquery, a function or a common table expression. */
  readonly table: string | null;
}

/** Checks the tree of a statement against the rules of a cluster. */
export function checkStatement(tree: unknown): readonly Violation[] {
  const found: Violation[] = [];
  visit(tree, new Set(), found);
  return found;
}

/**
 * Checks the syntax trees of a transaction's statements. It may write on the coordinator or in a workspace, but not in both. If it reads rows
 * of a workspace before it writes any, it must be started with `readsThenWrites`. Such a transaction is recognised by its call of
 * `to_regclass()`, which looks for the table of placements.
 */
export function checkTransaction(trees: readonly unknown[]): readonly Violation[] {
  const found: Violation[] = [];
  const written = [...new Set(trees.flatMap(writtenTables))];
  const places = new Set(written.map(isDistributed));
  if (places.size > 1) found.push({ rule: "spans_places", subject: written.join(", ") });
  const first = trees.find((tree) => [...readTables(tree), ...writtenTables(tree)].some(isDistributed));
  const writesFirst = first !== undefined && writtenTables(first).some(isDistributed);
  const readsThenWrites = trees.some((tree) => callsIn(tree).includes("to_regclass"));
  if (places.has(true) && !writesFirst && !readsThenWrites) {
    const read = readTables(first).filter(isDistributed);
    found.push({ rule: "read_before_write", subject: `${read.join(", ")}, then ${written.join(", ")}` });
  }
  return found;
}

function readTables(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(readTables);
  if (!isNode(value)) return [];
  const own = isNode(value.RangeVar) ? [String(value.RangeVar.relname)] : [];
  return [...own, ...Object.values(value).flatMap(readTables)];
}

function writtenTables(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(writtenTables);
  if (!isNode(value)) return [];
  const own = QUERIES.slice(1).flatMap((kind) => {
    const query = value[kind];
    return isNode(query) ? [String((query.relation as Node).relname)] : [];
  });
  return [...own, ...Object.values(value).flatMap(writtenTables)];
}

const QUERIES = ["SelectStmt", "UpdateStmt", "DeleteStmt", "InsertStmt"] as const;

function visit(value: unknown, scope: Scope, found: Violation[]): void {
  if (Array.isArray(value)) {
    for (const each of value) visit(each, scope, found);
    return;
  }
  if (!isNode(value)) return;
  const kind = QUERIES.find((name) => isNode(value[name]));
  if (kind !== undefined) return visitQuery(kind, value[kind] as Node, scope, found);
  checkCalls(value, found);
  for (const [name, each] of Object.entries(value)) {
    // The parse tree does not state the kind of a union's sides.
    if ((name === "larg" || name === "rarg") && isNode(each) && ("targetList" in each || "op" in each)) {
      visitQuery("SelectStmt", each, scope, found);
    } else visit(each, scope, found);
  }
}

function visitQuery(kind: (typeof QUERIES)[number], query: Node, outer: Scope, found: Violation[]): void {
  const expressions = new Set(outer);
  const withClause = isNode(query.withClause) ? query.withClause : {};
  for (const each of listOf(withClause.ctes)) {
    const { ctename, ctequery } = (each as Node).CommonTableExpr as Node;
    expressions.add(String(ctename));
    const isWrite = QUERIES.slice(1).some((name) => isNode(ctequery) && name in ctequery);
    if (isWrite) found.push({ rule: "write_in_with", subject: String(ctename) });
  }
  if (kind === "InsertStmt") checkInsert(query, found);
  else if (kind !== "SelectStmt") {
    const names = callsIn(query).filter((name) => VOLATILE.has(name));
    const table = String((query.relation as Node).relname);
    for (const name of names) found.push({ rule: "volatile_change", subject: `${name} in ${table}` });
  }
  const sources = sourcesOf(kind, query).map((source) =>
    source.table !== null && expressions.has(source.table) ? { ...source, table: null } : source,
  );
  const bound = boundSources(query, sources);
  for (const { alias, table } of sources) {
    if (table !== null && isDistributed(table) && !bound.has(alias)) {
      found.push({ rule: "unbound", subject: table });
    }
  }
  for (const [name, each] of Object.entries(query)) {
    if ((name === "larg" || name === "rarg") && isNode(each))
      visitQuery("SelectStmt", each, expressions, found);
    else if (name !== "relation") visit(each, expressions, found);
  }
}

/** Lists what a query reads, updates or deletes from. `checkInsert()` checks the table that an insert writes to. */
function sourcesOf(kind: (typeof QUERIES)[number], query: Node): Source[] {
  const own = kind === "UpdateStmt" || kind === "DeleteStmt" ? [{ RangeVar: query.relation }] : [];
  return [...own, ...listOf(query.fromClause), ...listOf(query.usingClause)].flatMap(sourcesIn);
}

function sourcesIn(item: unknown): Source[] {
  if (!isNode(item)) return [];
  if (isNode(item.JoinExpr)) return [item.JoinExpr.larg, item.JoinExpr.rarg].flatMap(sourcesIn);
  const [node] = Object.values(item);
  if (!isNode(node)) return [];
  const alias = isNode(node.alias) ? String(node.alias.aliasname) : null;
  const table = "RangeVar" in item ? String(node.relname) : null;
  return [{ alias: alias ?? table ?? "", table }];
}

/**
 * Returns the aliases that an equality binds to a value without columns, directly or through another bound source of the same query. A
 * cluster ignores an equality with a source of an outer query, and asks every shard.
 */
function boundSources(query: Node, sources: readonly Source[]): Set<string> {
  const bound = new Set<string>();
  const links: (readonly [string, string])[] = [];
  const tenants = sources.filter(({ table }) => table !== null && isDistributed(table));
  const aliasOf = (expression: unknown): string | null => {
    const fields = columnOf(expression);
    if (fields?.at(-1) !== "workspace_id") return null;
    return fields.length > 1
      ? (fields.at(-2) ?? null)
      : tenants.length === 1
        ? (tenants[0]?.alias ?? null)
        : null;
  };
  const joins = listOf(query.fromClause).flatMap(joinConditions);
  for (const { lexpr, rexpr } of [query.whereClause, ...joins].flatMap(equalities)) {
    const [left, right] = [aliasOf(lexpr), aliasOf(rexpr)];
    if (left !== null && right !== null) links.push([left, right]);
    else if (left !== null && !hasColumn(rexpr)) bound.add(left);
    else if (right !== null && !hasColumn(lexpr)) bound.add(right);
  }
  for (let size = -1; size !== bound.size; ) {
    size = bound.size;
    for (const [one, other] of links) {
      if (bound.has(one)) bound.add(other);
      if (bound.has(other)) bound.add(one);
    }
  }
  return bound;
}

function joinConditions(item: unknown): unknown[] {
  if (!isNode(item) || !isNode(item.JoinExpr)) return [];
  const { larg, rarg, quals } = item.JoinExpr;
  return [quals, ...joinConditions(larg), ...joinConditions(rarg)];
}

/** Lists the equalities that hold whenever a condition holds. */
function equalities(condition: unknown): { readonly lexpr: unknown; readonly rexpr: unknown }[] {
  if (!isNode(condition)) return [];
  if (isNode(condition.BoolExpr)) {
    return condition.BoolExpr.boolop === "AND_EXPR"
      ? listOf(condition.BoolExpr.args).flatMap(equalities)
      : [];
  }
  if (!isNode(condition.A_Expr) || condition.A_Expr.kind !== "AEXPR_OP") return [];
  const { name, lexpr, rexpr } = condition.A_Expr;
  return textOf(name) === "=" ? [{ lexpr, rexpr }] : [];
}

function checkInsert(query: Node, found: Violation[]): void {
  const table = String((query.relation as Node).relname);
  const select = isNode(query.selectStmt) ? ((query.selectStmt.SelectStmt ?? {}) as Node) : {};
  const values = listOf(select.valuesLists);
  if (values.length === 0 && isDistributed(table)) {
    found.push({ rule: "insert_select", subject: table });
    // The coordinator then runs the query itself, and sends its rows to the shard.
    const isPulled = !sourcesOf("SelectStmt", select).some(
      (each) => each.table !== null && isDistributed(each.table),
    );
    if (isPulled) found.push({ rule: "pulled_insert", subject: table });
  }
  for (const name of callsIn(query)) {
    if (VOLATILE.has(name) && isDistributed(table))
      found.push({ rule: "volatile_insert", subject: `${name} into ${table}` });
  }
  if (!isDistributed(table)) return;
  const update = isNode(query.onConflictClause) ? query.onConflictClause.targetList : null;
  for (const name of mutableCallsIn(update)) {
    found.push({ rule: "mutable_update", subject: `${name} into ${table}` });
  }
  const at = listOf(query.cols).findIndex(
    (each) => ((each as Node).ResTarget as Node).name === "workspace_id",
  );
  const stated =
    values.length > 0
      ? values.map((each) => listOf(((each as Node).List as Node).items)[at])
      : [((listOf(select.targetList)[at] as Node | undefined)?.ResTarget as Node | undefined)?.val];
  // A column of that name belongs to a source, which `visitQuery()` checks.
  const isBound = (value: unknown) =>
    value !== undefined && (columnOf(value)?.at(-1) === "workspace_id" || !hasColumn(value));
  if (at < 0 || !stated.every(isBound)) found.push({ rule: "unbound", subject: table });
}

/** Checks casts around functions that return rows, and settings that a cluster does not send to its shards. */
function checkCalls(node: Node, found: Violation[]): void {
  const cast = isNode(node.TypeCast) && isNode(node.TypeCast.arg) ? node.TypeCast.arg.FuncCall : null;
  if (isNode(cast) && RETURNS_ROWS.has(textOf(cast.funcname))) {
    found.push({ rule: "cast_of_set", subject: textOf(cast.funcname) });
  }
  const call = node.FuncCall;
  if (!isNode(call)) return;
  const called = textOf(call.funcname);
  // Such a lock does not exclude a process that is connected to another node of the cluster.
  if (called.startsWith("pg_advisory_") || called.startsWith("pg_try_advisory_"))
    found.push({ rule: "node_lock", subject: called });
  if (called !== "set_config") return;
  const [name, value] = listOf(call.args).map((each) => JSON.stringify(each));
  const isScope = /"meter\.(?:workspace|organisation)_ids?"/.exec(name ?? "");
  // An empty value resets the scope.
  if (isScope !== null && value?.includes("ParamRef"))
    found.push({ rule: "set_config", subject: isScope[0] });
}

/** Lists calls that are not immutable. `||` is one if a side is a number. */
function mutableCallsIn(update: unknown): string[] {
  const own = isNode(update) && isNode(update.A_Expr) ? update.A_Expr : {};
  const isMixed =
    textOf(own.name) === "||" &&
    [own.lexpr, own.rexpr].some(
      (side) => isNode(side) && isNode(side.A_Expr) && textOf(side.A_Expr.name) !== "||",
    );
  const inner = (isNode(update) ? Object.values(update) : listOf(update)).flatMap((each) =>
    typeof each === "object" && each !== null ? mutableCallsIn(each) : [],
  );
  const call = isNode(update) && isNode(update.FuncCall) ? [textOf(update.FuncCall.funcname)] : [];
  return [...(isMixed ? ["||"] : []), ...call.filter((name) => !IMMUTABLE.has(name)), ...inner];
}

function callsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(callsIn);
  if (!isNode(value)) return [];
  const own = isNode(value.FuncCall) ? [textOf(value.FuncCall.funcname)] : [];
  return [...own, ...Object.values(value).flatMap(callsIn)];
}

/** Returns the parts of a column's name, through casts; null for anything else. */
function columnOf(expression: unknown): readonly string[] | null {
  if (!isNode(expression)) return null;
  if (isNode(expression.TypeCast)) return columnOf(expression.TypeCast.arg);
  return isNode(expression.ColumnRef)
    ? listOf(expression.ColumnRef.fields).map((each) => textOf([each]))
    : null;
}

function hasColumn(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasColumn);
  return isNode(value) && ("ColumnRef" in value || Object.values(value).some(hasColumn));
}

/** Returns the last name of a qualified one, such as that of a function or an operator. */
function textOf(names: unknown): string {
  const last = listOf(names).at(-1);
  return isNode(last) && isNode(last.String) ? String(last.String.sval) : "";
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
