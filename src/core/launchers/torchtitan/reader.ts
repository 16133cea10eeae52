import type { Finding } from '../../findings';
import type { Located } from '../../domain/located';
import { quoted } from '../../text';
import type { LauncherFile } from '../../run/facts';
import { firstPlace, type Settings } from '../tables/values';
import { deriveFacts } from './derived';
import { closestFlavor } from './flavors';
import { titanKeys } from './settings';
import { factNamed, factsOfSettings } from '../tables/table';
import { settingsOfKeys } from '../tables/written-settings';
import { parseToml } from './toml';
import { sentence } from '../../sentence';

/**
 * Settings that name a folder or file of the model; a folder of assets holds its `config.json`. Paths are relative to where the launcher is
 * started.
 */
const modelPaths = ['model.hf_assets_path', 'model.config'];

/**
 * What a TorchTitan TOML (2024-03 to 2026-02) sets for a run. Model sizes are never in it: a remark names where they are.
 * Values that cannot be are remarks of severity error at the value, and no facts.
 * @throws ExpectedError for text that is not TOML 1.0, placed; see `parseToml`.
 */
export function readTorchTitan(file: string, text: string): LauncherFile {
  return titanFile(file, text, parseToml(file, text));
}

/** The same of settings by their dotted names, wherever they are. */
export function titanFile(file: string, text: string, settings: Settings): LauncherFile {
  const { facts, remarks } = factsOfSettings(titanKeys, settings);
  deriveFacts(settings, facts);
  const modelFiles = readModelPaths(settings);
  const sizes = sizesRemark(settings, modelFiles);
  const place = firstPlace(file, facts);
  return {
    file,
    format: 'torchtitan',
    text,
    place,
    facts,
    modelFiles,
    placeholders: [],
    written: { names: 'torchtitan', settings: settingsOfKeys(settings, (name) => factNamed(titanKeys, name) !== undefined) },
    remarks: sizes === null ? remarks : [...remarks, sizes],
  };
}

function readModelPaths(settings: Settings): readonly Located<string>[] {
  return modelPaths.flatMap((name) => {
    const setting = settings.get(name);
    if (typeof setting?.value !== 'string' || setting.value === '') return [];
    return [{ value: setting.value, source: { kind: 'file', place: setting.place, key: name } }];
  });
}

/** TorchTitan keeps the sizes of each flavour in Python (`model_args`, a registry): nothing here may guess them. */
function sizesRemark(settings: Settings, modelFiles: readonly Located<string>[]): Finding | null {
  const at = settings.get('model.flavor') ?? settings.get('model.name');
  if (at === undefined) return null;
  const named = ['model.name', 'model.flavor'].map((name) => settings.get(name)?.value).filter((value) => typeof value === 'string');
  const [model, flavor] = named;
  const meant = model === undefined || flavor === undefined ? null : closestFlavor(model, flavor);
  const folder = modelFiles[0];
  const hint = folder === undefined ? '' : sentence`put the model's config.json into ${quoted(folder.value)}, or `;
  return {
    code: 'sizes-unknown',
    severity: 'information',
    place: at.place,
    message: sentence`TorchTitan keeps the sizes of ${quoted(named.join(' '))} in its Python code, not in this file`,
    remedy: sentence`${meant === null || meant === flavor ? '' : sentence`did you mean the flavor ${quoted(meant)}? Otherwise `}${hint}name the model's HuggingFace config.json as "model" in a terapipe.json`,
    fixes: [],
  };
}
