import { BodiesShowCommand, BodiesStatsCommand, BodiesSweepCommand } from "./bodies.ts";
import { CloudBodiesStatusCommand } from "./cloud/bodies.ts";
import { CloudConnectCommand } from "./cloud/connect.ts";
import { CloudDisconnectCommand } from "./cloud/disconnect.ts";
import { CloudPrivacySetCommand, CloudPrivacyShowCommand } from "./cloud/privacy.ts";
import { CloudPrivacyAuditCommand } from "./cloud/privacy-audit.ts";
import { CloudQuarantineListCommand, CloudQuarantineRetryCommand } from "./cloud/quarantine.ts";
import { CloudReconcileCommand } from "./cloud/reconcile.ts";
import { CloudStatusCommand } from "./cloud/status.ts";
import { CloudPauseCommand, CloudResumeCommand, CloudSyncCommand } from "./cloud/sync.ts";
import { CloudWhoamiCommand } from "./cloud/whoami.ts";
import { DoctorCommand } from "./doctor.ts";
import { ExplainCommand } from "./explain.ts";
import { InitCommand } from "./init.ts";
import { OpenCommand } from "./open.ts";
import {
  PricingAutoPullCommand,
  PricingListCommand,
  PricingRefreshCommand,
  PricingStatusCommand,
} from "./pricing.ts";
import { ProjectListCommand, ProjectReassignCommand, ProjectSetCommand } from "./project.ts";
import { PruneCommand } from "./prune.ts";
import { RecomputeCostsCommand } from "./recompute-costs.ts";
import { ReportCommand } from "./report.ts";
import { RunCommand } from "./run.ts";
import { StartCommand } from "./start.ts";
import { StatusCommand } from "./status.ts";
import { StopCommand } from "./stop.ts";
import { UninstallCommand } from "./uninstall.ts";
import { WipeCommand } from "./wipe.ts";

/** All commands, in the order of the help. */
export const commands = [
  InitCommand,
  UninstallCommand,
  DoctorCommand,
  StartCommand,
  StopCommand,
  StatusCommand,
  RunCommand,
  OpenCommand,
  ReportCommand,
  ExplainCommand,
  ProjectListCommand,
  ProjectReassignCommand,
  ProjectSetCommand,
  BodiesShowCommand,
  BodiesStatsCommand,
  BodiesSweepCommand,
  CloudConnectCommand,
  CloudDisconnectCommand,
  CloudStatusCommand,
  CloudWhoamiCommand,
  CloudSyncCommand,
  CloudPauseCommand,
  CloudResumeCommand,
  CloudReconcileCommand,
  CloudBodiesStatusCommand,
  CloudQuarantineListCommand,
  CloudQuarantineRetryCommand,
  CloudPrivacyShowCommand,
  CloudPrivacySetCommand,
  CloudPrivacyAuditCommand,
  PricingListCommand,
  PricingStatusCommand,
  PricingRefreshCommand,
  PricingAutoPullCommand,
  RecomputeCostsCommand,
  PruneCommand,
  WipeCommand,
];
