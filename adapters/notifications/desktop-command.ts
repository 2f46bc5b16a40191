/** A program with its arguments and additional variables. */
export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const TITLE = "meter";

/** The longest text, in characters. */
const MAX_TEXT = 500;

/** Builds the toast from text nodes, so that the text is never markup or code. */
const TOAST_SCRIPT = `
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$nodes = $xml.GetElementsByTagName('text')
$null = $nodes.Item(0).AppendChild($xml.CreateTextNode('${TITLE}'))
$null = $nodes.Item(1).AppendChild($xml.CreateTextNode($env:METER_NOTIFICATION))
$id = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($id).Show([Windows.UI.Notifications.ToastNotification]::new($xml))
`;

/**
 * Returns the program that shows a text on the desktop of a platform; null if the platform has none. The text is an argument or a
 * variable, never a part of a script.
 */
export function desktopCommand(
  platform: string,
  text: string,
  env: Readonly<Record<string, string | undefined>> = {},
): ProgramCall | null {
  const line = text.replaceAll(/\p{Cc}+/gu, " ").slice(0, MAX_TEXT);
  if (platform === "linux") {
    // The body may have markup.
    const body = line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    return { file: "notify-send", args: [`--app-name=${TITLE}`, "--", TITLE, body], env: {} };
  }
  if (platform === "darwin") {
    const script = `display notification (item 1 of argv) with title "${TITLE}"`;
    const args = ["-e", "on run argv", "-e", script, "-e", "end run", "--", line];
    return { file: "/usr/bin/osascript", args, env: {} };
  }
  if (platform !== "win32") return null;
  const file = `${env.SystemRoot ?? "C:\\Windows"}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`;
  const args = ["-NoProfile", "-NonInteractive", "-Command", TOAST_SCRIPT];
  return { file, args, env: { METER_NOTIFICATION: line } };
}
