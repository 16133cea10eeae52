import { printable } from '../../core/text';

/** VS Code cuts notifications at this length. */
const maximumLength = 1000;
const wordJoiner = '\u2060';

/**
 * Text that may quote a file, for the places where VS Code gives text a meaning: notifications, progress and prompts make links of
 * `[text](command:id)`, which run commands in restricted workspaces too (`parseLinkedText` of base/common/linkedText.ts); the status bar,
 * lenses and quick picks make pictures of `$(name)` (`renderLabelWithIcons`). An invisible word joiner breaks both patterns and does not
 * show. Control and bidirectional characters become escapes, and what is over 1,000 characters is cut.
 */
export function inert(text: string): string {
  const whole = text.replaceAll(wordJoiner, '');
  const cut = whole.length > maximumLength ? `${whole.slice(0, maximumLength)}…` : whole;
  return printable(cut).replace(/(?<=[\]$])\(/g, `${wordJoiner}(`);
}
