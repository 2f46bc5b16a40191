import { Hono } from "hono";
import { budgetViews } from "../budgets/budget-views.ts";
import type { ApiPorts } from "./api-ports.ts";

/** Creates the routes below `/v1/budgets`. Access is checked before. Budgets are changed on the command line only. */
export function createBudgetRoutes({ budgets, clock }: Pick<ApiPorts, "budgets" | "clock">): Hono {
  const routes = new Hono();
  routes.get("/", async (context) => {
    if (budgets === undefined)
      return context.json({ budgets: [], let_through: 0, let_through_early: 0, confirmed: true });
    const { tracker, configured } = budgets;
    tracker.refresh();
    const confirmed = await budgets.confirmed();
    const { calls, early, byBudget: letThrough } = budgets.letThrough();
    const cutCalls = tracker.cutCalls();
    const views = budgetViews(tracker.state(), clock.now(), { configured, letThrough, cutCalls });
    return context.json({ budgets: views, let_through: calls, let_through_early: early, confirmed });
  });
  return routes;
}
