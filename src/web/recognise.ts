import { recogniseConfig } from '../core/config-files/readers';
import { ExpectedError } from '../core/errors';
import { parseDocument, readMembers } from '../core/languages/json/document';
import { isScheduleCsv } from '../core/schedules/pytorch-csv/cells';
import type { SessionFormat } from '../host/sessions/session-state';

/** Names that a pasted text may have had. */
const names = ['config.json', 'terapipe.json', 'train.sh', 'config.yaml', 'config.yml', 'config.toml', 'config_registry.py'];

/** What a file is of; null for anything else. */
function formatNamed(name: string, text: string): SessionFormat | null {
  if (/\.csv$/i.test(name)) return isScheduleCsv(text) ? 'pytorch-schedule' : null;
  return recogniseConfig(name, text);
}

/** A name for a text that has none; null where it is not a config. */
export function nameForText(text: string): string | null {
  if (isScheduleCsv(text)) return 'schedule.csv';
  const name = names.find((each) => each !== 'terapipe.json' && recogniseConfig(each, text) !== null);
  const format = name === 'config.json' ? recogniseConfig(name, text) : null;
  // The name config.json is left to the model's own, which it may need next to it.
  return format === 'terapipe' ? 'terapipe.json' : format === 'deepspeed' ? 'ds_config.json' : (name ?? null);
}

/**
 * The path at which a config has its model: the file that a terapipe.json names, else a config.json next to it. Null where it takes none
 * from another file, or cannot be read so far.
 */
export function modelPath(name: string, text: string): string | null {
  const format = formatNamed(name, text);
  if (format === 'huggingface' || format === 'pytorch-schedule' || format === null) return null;
  if (format !== 'terapipe') return 'config.json';
  const named = namedModel(name, text);
  return named !== null && /\.jsonc?$/i.test(named) ? named : null;
}

/** What `model`, or `model.from`, of a terapipe.json names. */
function namedModel(file: string, text: string): string | null {
  try {
    const document = parseDocument(file, text, 'jsonc');
    const model = readMembers(document, document.root, 'terapipe.json').get('model')?.value;
    const from = model?.type === 'object' ? readMembers(document, model, 'model').get('from')?.value : model;
    return from?.type === 'string' ? String(from.value) : null;
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

/** The config of several files that is opened: a terapipe.json, else a launcher's file, else a model's. */
export function firstConfig(
  files: readonly (readonly [path: string, text: string])[],
): { readonly path: string; readonly format: SessionFormat } | null {
  const found = files.flatMap(([path, text]) => {
    const format = formatNamed(path, text);
    return format === null ? [] : [{ path, format }];
  });
  const rank = (format: SessionFormat): number =>
    format === 'terapipe' ? 0 : format === 'huggingface' ? 2 : format === 'pytorch-schedule' ? 3 : 1;
  return found.sort((a, b) => rank(a.format) - rank(b.format))[0] ?? null;
}
