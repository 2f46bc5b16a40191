import type { ApiHandlers } from "./api-call.ts";
import { coverageHandlers } from "./daemon/coverage.ts";
import { daemonKeyHandlers } from "./daemon/daemon-key.ts";
import { daemonTotalsHandlers } from "./daemon/daemon-totals.ts";
import { limitHandlers } from "./daemon/limit-readings.ts";
import { machineBudgetHandlers } from "./daemon/machine-budgets.ts";
import { pairingHandlers } from "./daemon/pairing.ts";
import { ratesHandlers } from "./daemon/pricing-rates.ts";
import { requestBodyHandlers } from "./daemon/request-body.ts";
import { batchHandlers } from "./daemon/requests-batch.ts";
import { budgetHandlers } from "./people/budgets.ts";
import { deletionHandlers } from "./people/deletions.ts";
import { invitationHandlers } from "./people/invitations.ts";
import { keyHandlers } from "./people/keys.ts";
import { machineHandlers } from "./people/machines.ts";
import { meHandlers } from "./people/me.ts";
import { memberHandlers } from "./people/members.ts";
import { organisationHandlers } from "./people/organisations.ts";
import { pairingDecisionHandlers } from "./people/pairing-decisions.ts";
import { savedViewHandlers } from "./people/saved-views.ts";
import { settingsHandlers } from "./people/settings.ts";
import { weeklySummaryHandlers } from "./people/weekly-summary.ts";
import { auditHandlers } from "./reads/audit.ts";
import { consentHandlers } from "./reads/checkout-consent.ts";
import { nowHandlers } from "./reads/now.ts";
import { optimisationHandlers } from "./reads/optimisation.ts";
import { privacyHandlers } from "./reads/privacy.ts";
import { promptViewHandlers } from "./reads/prompt-views.ts";
import { reportHandlers } from "./reads/reports.ts";
import { sessionHandlers } from "./reads/sessions.ts";
import { traceBodyHandlers } from "./reads/trace-body.ts";
import { traceHandlers } from "./reads/traces.ts";
import { usageHandlers } from "./reads/usage.ts";
import { verificationHandlers } from "./reads/verification.ts";

/** The handlers of all routes of the table. */
export const API_HANDLERS: ApiHandlers = {
  ...batchHandlers,
  ...requestBodyHandlers,
  ...daemonKeyHandlers,
  ...daemonTotalsHandlers,
  ...limitHandlers,
  ...coverageHandlers,
  ...machineBudgetHandlers,
  ...ratesHandlers,
  ...pairingHandlers,
  ...pairingDecisionHandlers,
  ...meHandlers,
  ...deletionHandlers,
  ...organisationHandlers,
  ...settingsHandlers,
  ...memberHandlers,
  ...invitationHandlers,
  ...machineHandlers,
  ...budgetHandlers,
  ...savedViewHandlers,
  ...weeklySummaryHandlers,
  ...keyHandlers,
  ...reportHandlers,
  ...usageHandlers,
  ...nowHandlers,
  ...privacyHandlers,
  ...optimisationHandlers,
  ...sessionHandlers,
  ...traceHandlers,
  ...traceBodyHandlers,
  ...auditHandlers,
  ...promptViewHandlers,
  ...verificationHandlers,
  ...consentHandlers,
};
