import type { BodyStore } from "./port/bodies.ts";
import type { BodyDeliveryStore } from "./port/body-delivery.ts";
import type { BudgetStore } from "./port/budgets.ts";
import type { ClientReportStore } from "./port/client-reports.ts";
import type { CoverageStore } from "./port/coverage.ts";
import type { DeletionStore } from "./port/deletion.ts";
import type { DeliveryStore, QuarantineStore } from "./port/delivery.ts";
import type { LimitStore } from "./port/limits.ts";
import type { LogStore } from "./port/logs.ts";
import type { OriginStore } from "./port/origins.ts";
import type { ReassignmentStore } from "./port/reassignments.ts";
import type { RecordStore } from "./port/records.ts";
import type { ReportStore } from "./port/reports.ts";
import type { RollupStore } from "./port/rollups.ts";
import type { SessionStore } from "./port/sessions.ts";
import type { NoteStore, RateStore, SettingStore } from "./port/settings.ts";
import type { StoreParts } from "./port/store.ts";

/** Runs one call of a store, and may react to its error. */
export type Guard = <Result>(call: () => Result) => Result;

/** Creates parts that run each call on the parts that are current at that moment, through `guard`. */
export function guardParts(current: () => StoreParts, guard: Guard): StoreParts {
  return {
    records: guardRecords(() => current().records, guard),
    reports: guardReports(() => current().reports, guard),
    sessions: guardSessions(() => current().sessions, guard),
    rollups: guardRollups(() => current().rollups, guard),
    bodies: guardBodies(() => current().bodies, guard),
    coverage: guardCoverage(() => current().coverage, guard),
    settings: guardSettings(() => current().settings, guard),
    rates: guardRates(() => current().rates, guard),
    notes: guardNotes(() => current().notes, guard),
    delivery: guardDelivery(() => current().delivery, guard),
    bodyDelivery: guardBodyDelivery(() => current().bodyDelivery, guard),
    quarantine: guardQuarantine(() => current().quarantine, guard),
    deletion: guardDeletion(() => current().deletion, guard),
    reassignments: guardReassignments(() => current().reassignments, guard),
    origins: guardOrigins(() => current().origins, guard),
    limits: guardLimits(() => current().limits, guard),
    budgets: guardBudgets(() => current().budgets, guard),
    logs: guardLogs(() => current().logs, guard),
    clientReports: guardClientReports(() => current().clientReports, guard),
  };
}

function guardRecords(part: () => RecordStore, guard: Guard): RecordStore {
  return {
    insert: (records) => guard(() => part().insert(records)),
    find: (text) => guard(() => part().find(text)),
    get: (requestId) => guard(() => part().get(requestId)),
    latestId: () => guard(() => part().latestId()),
    lastSeq: () => guard(() => part().lastSeq()),
    lastCaptures: (since) => guard(() => part().lastCaptures(since)),
    findStoredResponse: (responseId) => guard(() => part().findStoredResponse(responseId)),
    read: (range) => guard(() => part().read(range)),
    list: (query, turn, signal) => guard(() => part().list(query, turn, signal)),
    shortenIds: (ids, minLength) => guard(() => part().shortenIds(ids, minLength)),
    count: (period) => guard(() => part().count(period)),
    updateCosts: (updates, at) => guard(() => part().updateCosts(updates, at)),
  };
}

function guardReports(part: () => ReportStore, guard: Guard): ReportStore {
  return {
    read: (query) => guard(() => part().read(query)),
    readEach: (groupings, query) => guard(() => part().readEach(groupings, query)),
    readFromLogs: (query) => guard(() => part().readFromLogs(query)),
    readUnpricedModels: (query, limit) => guard(() => part().readUnpricedModels(query, limit)),
    readStreamsWithoutUsage: (query) => guard(() => part().readStreamsWithoutUsage(query)),
    readStatistics: (query, turn) => guard(() => part().readStatistics(query, turn)),
    readUsage: (plan, turn) => guard(() => part().readUsage(plan, turn)),
    readUsageEach: (plan, groupings, turn) => guard(() => part().readUsageEach(plan, groupings, turn)),
    findRepeats: (plan, limit, turn) => guard(() => part().findRepeats(plan, limit, turn)),
    findSamePrompt: (call, limit) => guard(() => part().findSamePrompt(call, limit)),
    readNewestCalls: (plan, limit) => guard(() => part().readNewestCalls(plan, limit)),
    readLastRequests: (period) => guard(() => part().readLastRequests(period)),
  };
}

function guardSessions(part: () => SessionStore, guard: Guard): SessionStore {
  return {
    list: (query, turn) => guard(() => part().list(query, turn)),
    find: (text) => guard(() => part().find(text)),
    summarise: (sessionId) => guard(() => part().summarise(sessionId)),
    requests: (sessionId, limit) => guard(() => part().requests(sessionId, limit)),
  };
}

function guardRollups(part: () => RollupStore, guard: Guard): RollupStore {
  return { buildSome: (now) => guard(() => part().buildSome(now)) };
}

function guardBodies(part: () => BodyStore, guard: Guard): BodyStore {
  return {
    insert: (bodies) => guard(() => part().insert(bodies)),
    read: (requestId) => guard(() => part().read(requestId)),
    get: (requestId, direction) => guard(() => part().get(requestId, direction)),
    stats: () => guard(() => part().stats()),
    countBefore: (before) => guard(() => part().countBefore(before)),
    deleteSome: (before) => guard(() => part().deleteSome(before)),
  };
}

function guardCoverage(part: () => CoverageStore, guard: Guard): CoverageStore {
  return {
    add: (counts) => guard(() => part().add(counts)),
    read: (period) => guard(() => part().read(period)),
    readGaps: (kinds, period) => guard(() => part().readGaps(kinds, period)),
    readTimes: (period, hosts) => guard(() => part().readTimes(period, hosts)),
    readHours: (from, maxHours) => guard(() => part().readHours(from, maxHours)),
    saveRun: (run) => guard(() => part().saveRun(run)),
    readRuns: (period) => guard(() => part().readRuns(period)),
  };
}

function guardSettings(part: () => SettingStore, guard: Guard): SettingStore {
  return {
    listProjects: () => guard(() => part().listProjects()),
    setBodyCapture: (project, on, at) => guard(() => part().setBodyCapture(project, on, at)),
  };
}

function guardRates(part: () => RateStore, guard: Guard): RateStore {
  return {
    read: () => guard(() => part().read()),
    replace: (source, rows, at) => guard(() => part().replace(source, rows, at)),
  };
}

function guardNotes(part: () => NoteStore, guard: Guard): NoteStore {
  return {
    read: (key) => guard(() => part().read(key)),
    write: (key, value) => guard(() => part().write(key, value)),
  };
}

function guardDelivery(part: () => DeliveryStore, guard: Guard): DeliveryStore {
  return {
    readState: (table) => guard(() => part().readState(table)),
    updateState: (table, change) => guard(() => part().updateState(table, change)),
    saveMachineState: (key, json, table, change) =>
      guard(() => part().saveMachineState(key, json, table, change)),
    countPending: () => guard(() => part().countPending()),
    pendingProjects: (limit, now, from) => guard(() => part().pendingProjects(limit, now, from)),
    oldestPendingAt: () => guard(() => part().oldestPendingAt()),
    requestsById: (requestIds) => guard(() => part().requestsById(requestIds)),
    settle: (settled) => guard(() => part().settle(settled)),
    skipSome: (at, through) => guard(() => part().skipSome(at, through)),
    offerAgain: (sentFrom, through) => guard(() => part().offerAgain(sentFrom, through)),
    saveSentFields: (requestIds, fields) => guard(() => part().saveSentFields(requestIds, fields)),
    deliveries: (from, to) => guard(() => part().deliveries(from, to)),
  };
}

function guardBodyDelivery(part: () => BodyDeliveryStore, guard: Guard): BodyDeliveryStore {
  return {
    pending: (after, limit) => guard(() => part().pending(after, limit)),
    markUploaded: (body, at) => guard(() => part().markUploaded(body, at)),
    quarantine: (body, at) => guard(() => part().quarantine(body, at)),
    totals: (selection) => guard(() => part().totals(selection)),
    days: (from, selection) => guard(() => part().days(from, selection)),
  };
}

function guardQuarantine(part: () => QuarantineStore, guard: Guard): QuarantineStore {
  return {
    list: () => guard(() => part().list()),
    count: () => guard(() => part().count()),
    release: (kind, requestIds) => guard(() => part().release(kind, requestIds)),
  };
}

function guardDeletion(part: () => DeletionStore, guard: Guard): DeletionStore {
  return {
    count: (before) => guard(() => part().count(before)),
    deleteSome: (before) => guard(() => part().deleteSome(before)),
    deleteRequests: (requestIds) => guard(() => part().deleteRequests(requestIds)),
    finish: (before, shrink) => guard(() => part().finish(before, shrink)),
  };
}

function guardReassignments(part: () => ReassignmentStore, guard: Guard): ReassignmentStore {
  return {
    count: (move) => guard(() => part().count(move)),
    move: (move, at) => guard(() => part().move(move, at)),
    last: () => guard(() => part().last()),
    undo: () => guard(() => part().undo()),
  };
}

function guardOrigins(part: () => OriginStore, guard: Guard): OriginStore {
  return {
    list: () => guard(() => part().list()),
    assign: (assignment, replaced) => guard(() => part().assign(assignment, replaced)),
    isUsed: (project) => guard(() => part().isUsed(project)),
    listMerges: () => guard(() => part().listMerges()),
  };
}

function guardLimits(part: () => LimitStore, guard: Guard): LimitStore {
  return {
    save: (changed) => guard(() => part().save(changed)),
    list: () => guard(() => part().list()),
    history: (id, since) => guard(() => part().history(id, since)),
    trim: (bounds) => guard(() => part().trim(bounds)),
  };
}

function guardBudgets(part: () => BudgetStore, guard: Guard): BudgetStore {
  return {
    list: () => guard(() => part().list()),
    marks: () => guard(() => part().marks()),
    save: (name, input, action) => guard(() => part().save(name, input, action)),
    remove: (name, action) => guard(() => part().remove(name, action)),
    mark: (mark, action) => guard(() => part().mark(mark, action)),
    actions: (name, limit) => guard(() => part().actions(name, limit)),
    warnings: (name) => guard(() => part().warnings(name)),
    forgetWarnings: (name) => guard(() => part().forgetWarnings(name)),
    addWarnings: (warnings) => guard(() => part().addWarnings(warnings)),
    calls: (requestIds) => guard(() => part().calls(requestIds)),
    sums: (budget, bounds, key, place) => guard(() => part().sums(budget, bounds, key, place)),
    version: () => guard(() => part().version()),
  };
}

function guardLogs(part: () => LogStore, guard: Guard): LogStore {
  return {
    position: (path) => guard(() => part().position(path)),
    linkPullRequests: () => guard(() => part().linkPullRequests()),
    save: (batch, at) => guard(() => part().save(batch, at)),
    prunedBefore: () => guard(() => part().prunedBefore()),
    matchesOf: (requestIds) => guard(() => part().matchesOf(requestIds)),
    matched: (entryIds) => guard(() => part().matched(entryIds)),
    stored: (entryIds) => guard(() => part().stored(entryIds)),
    freeWireCalls: (from, to) => guard(() => part().freeWireCalls(from, to)),
    firstWireCall: (clients) => guard(() => part().firstWireCall(clients)),
    readSince: (at, afterSeq, limit) => guard(() => part().readSince(at, afterSeq, limit)),
    count: (agent) => guard(() => part().count(agent)),
    removeSome: (agent) => guard(() => part().removeSome(agent)),
    forget: (agent) => guard(() => part().forget(agent)),
  };
}

function guardClientReports(part: () => ClientReportStore, guard: Guard): ClientReportStore {
  return {
    save: (reports) => guard(() => part().save(reports)),
    last: () => guard(() => part().last()),
    read: (period) => guard(() => part().read(period)),
  };
}
