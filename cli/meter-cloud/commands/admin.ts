import { Command, Option } from "clipanion";
import { CommandFailure } from "../../program/exit-codes.ts";
import { describeUnreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

const MAX_PASSWORD_FILE_BYTES = 4_096;

/** Length of a generated password in bytes: 96 random bits. */
const GENERATED_PASSWORD_BYTES = 12;

export class AdminCreateUserCommand extends CloudCommand {
  static override paths = [["admin", "create-user"]];
  static override usage = Command.Usage({
    category: "People",
    description: "Create an account with its own organisation and workspace",
    details: `
      Creates the first account of a server with closed sign-up, and accounts for people you know. The password is the
      first line of a file; without a file, a password is generated and shown once.
    `,
    examples: [
      ["Generate a password", "meter-cloud admin create-user --email ann@example.com --name Ann"],
      [
        "Read the password from a file",
        "meter-cloud admin create-user --email ann@example.com --name Ann --password-file password.txt",
      ],
    ],
  });

  email = Option.String("--email", {
    required: true,
    description: "The email address the person signs in with",
  });
  name = Option.String("--name", "", { description: "The person's name" });
  passwordFile = Option.String("--password-file", { description: "A file whose first line is the password" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { randomBytes } = await import("node:crypto");
    const { email, name } = this;
    const given = this.passwordFile === undefined ? null : await readPassword(this.passwordFile);
    const password = given ?? randomBytes(GENERATED_PASSWORD_BYTES).toString("base64url");
    const made = await this.administer("create_user", { email, name, password });
    if (!made.ok) throw new CommandFailure(REFUSALS[made.reason]);
    const shown = given === null ? password : null;
    if (this.json) {
      this.commandContext.printJson({
        ...{ user_id: made.userId, organisation_id: made.organisationId, workspace_id: made.workspaceId },
        ...(shown === null ? {} : { password: shown }),
      });
    } else {
      this.commandContext.print(`Created the account ${email} with workspace ${made.workspaceId}.`);
      if (shown !== null) this.commandContext.print(`Password (shown only once): ${shown}`);
    }
  }
}

const REFUSALS = {
  email_taken: "An account with this email address already exists.",
  email_malformed: "The email address is invalid.",
  password_refused: "The password must have 12 to 128 characters.",
} as const;

async function readPassword(path: string): Promise<string> {
  const { readSmallFile } = await import("../../../adapters/files/read-small-file.ts");
  const file = await readSmallFile(path, { maxBytes: MAX_PASSWORD_FILE_BYTES });
  if (!file.ok) throw new CommandFailure(describeUnreadable(path, file.reason));
  return file.text.split(/\r?\n/, 1)[0] ?? "";
}

export class AdminSetPlanCommand extends CloudCommand {
  static override paths = [["admin", "set-plan"]];
  static override usage = Command.Usage({
    category: "People",
    description: "Change the plan of a workspace",
    details: "Takes effect at once and is recorded in the workspace's audit events. Nothing is deleted.",
    examples: [["Change to Team", "meter-cloud admin set-plan 01994b8e-7c00-7000-8000-000000000000 team"]],
  });

  workspace = Option.String({ name: "workspace" });
  plan = Option.String({ name: "plan" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { isPlan, PLANS } = await import("../../../core/values/plan.ts");
    const { plan } = this;
    const workspaceId = await this.parseWorkspaceId(this.workspace);
    if (!isPlan(plan)) {
      throw new CommandFailure(`Invalid plan: ${plan}. Expected: ${PLANS.join(", ")}.`, cloudExitCodes.usage);
    }
    const set = await this.administer("set_plan", { workspaceId, plan });
    if (set === null)
      throw new CommandFailure(`There is no workspace ${workspaceId}.`, cloudExitCodes.notFound);
    if (this.json) this.commandContext.printJson({ workspace_id: workspaceId, plan: set.plan });
    else this.commandContext.print(`Workspace ${workspaceId} is on the plan ${set.plan}.`);
  }
}

export class AdminListCommand extends CloudCommand {
  static override paths = [["admin", "list"]];
  static override usage = Command.Usage({
    category: "People",
    description: "List the workspaces of an account",
    examples: [["List them by email address", "meter-cloud admin list ann@example.com"]],
  });

  email = Option.String({ name: "email" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const found = await this.administer("list_workspaces", { email: this.email });
    if (found === null)
      throw new CommandFailure(
        `There is no account with the email address ${this.email}.`,
        cloudExitCodes.notFound,
      );
    if (this.json) {
      return this.commandContext.printJson(
        found.map(({ workspaceId, name, plan, role }) => ({ workspace_id: workspaceId, name, plan, role })),
      );
    }
    const { renderTable } = await import("../../render/table.ts");
    return this.commandContext.print(
      renderTable(
        [{ title: "workspace" }, { title: "name", shrink: true }, { title: "plan" }, { title: "role" }],
        found.map(({ workspaceId, name, plan, role }) => [workspaceId, name, plan, role]),
        this.commandContext.width,
      ),
    );
  }
}
