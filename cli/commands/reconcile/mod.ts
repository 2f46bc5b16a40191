export { ReconcileBillCommand } from "./bill/reconcile-bill-command.ts";
export { ReconcileLogsCommand } from "./logs/reconcile-logs-command.ts";
