import { AdminCreateUserCommand, AdminListCommand, AdminSetPlanCommand } from "./admin.ts";
import { BackupCommand, RestoreCommand, WithdrawalsCommand } from "./backup.ts";
import { DoctorCommand } from "./doctor.ts";
import { EraseCommand } from "./erase.ts";
import { LedgerVerifyCommand } from "./ledger.ts";
import { MigrateCommand } from "./migrate.ts";
import { PurgeCommand } from "./purge.ts";
import { RatesPublishCommand, RatesSeedCommand } from "./rates.ts";
import { ServeCommand } from "./serve.ts";

/** All commands, in the order of the help. */
export const commands = [
  ServeCommand,
  MigrateCommand,
  AdminCreateUserCommand,
  AdminSetPlanCommand,
  AdminListCommand,
  RatesSeedCommand,
  RatesPublishCommand,
  LedgerVerifyCommand,
  PurgeCommand,
  EraseCommand,
  DoctorCommand,
  BackupCommand,
  WithdrawalsCommand,
  RestoreCommand,
];
