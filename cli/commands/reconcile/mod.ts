export { ReconcileBillCommand } from "./bill/reconcile-bill-command.ts";
