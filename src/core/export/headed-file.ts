import type { ConfigFormat } from '../run/config-format';
import { say } from '../sentence';
import { printable } from '../text';
import type { Remark } from '../launchers/writing/launch-settings';

/** Formats whose files have no comments that all their readers take. */
const withoutComments: readonly ConfigFormat[] = ['deepspeed', 'terapipe', 'huggingface', 'onnx'];

/** A file with a comment at its top for each thing that a layout needs and the file does not have; a first line `#!` stays first. */
export function headedFile(format: ConfigFormat, text: string, gaps: readonly Remark[]): string {
  if (gaps.length === 0 || withoutComments.includes(format)) return text;
  const lines = gaps.map(({ what, reason }) => `# TeraPipe, not written: ${printable(`${say(what)}: ${say(reason)}`)}\n`).join('');
  const [shebang = ''] = /^#!.*\r?\n/.exec(text) ?? [];
  return shebang + lines + text.slice(shebang.length);
}
