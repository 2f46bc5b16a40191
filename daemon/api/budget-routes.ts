import { Hono } from "hono";
import { budgetViews } from "../budgets/budget-views.ts";
import type { ApiPorts } from "./api-ports.ts";

/** Creates the routes below `/v1/budgets`. Access is checked before. Budgets are changed on the command line only. */
export function createBudgetRoutes({ budgets, clock }: Pick<ApiPorts, "budgets" | "clock">): Hono {
  const routes = new Hono();
  routes.get("/", (context) => {
    budgets?.tracker.refresh();
    const views =
      budgets === undefined ? [] : budgetViews(budgets.tracker.state(), budgets.configured, clock.now());
    return context.json({ budgets: views, let_through: budgets?.tracker.letThrough() ?? 0 });
  });
  return routes;
}
