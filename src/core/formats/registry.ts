import { topLevelKeys } from './json-document';
import type { ConfigFormat } from './config-format';
import { rootKeys } from './terapipe/terapipe';

/**
 * Which format a file is, by its name (`terapipe.json`, `*.terapipe.json`) or its top-level keys; null for anything else. One scan, no parse: works on
 * broken files too.
 */
export function recognise(file: string, text: string): ConfigFormat | null {
  if (/(^|[/\\.])terapipe\.jsonc?$/i.test(file)) return 'terapipe';
  const keys = topLevelKeys(text);
  if (isHuggingFace(keys)) return 'huggingface';
  const others = rootKeys.filter((key) => key !== '$schema' && key !== 'model' && keys.has(key));
  return keys.has('model') && others.length > 0 && others.length + 1 >= keys.size / 2 ? 'terapipe' : null;
}

/** As `recognise`, for a file that the user named: a lone `model` is enough. */
export function recogniseNamed(file: string, text: string): ConfigFormat | null {
  return recognise(file, text) ?? (topLevelKeys(text).has('model') ? 'terapipe' : null);
}

function isHuggingFace(keys: ReadonlySet<string>): boolean {
  const sized = (keys.has('hidden_size') && keys.has('num_hidden_layers')) || (keys.has('n_embd') && keys.has('n_layer'));
  return sized || (keys.has('model_type') && !keys.has('model'));
}
