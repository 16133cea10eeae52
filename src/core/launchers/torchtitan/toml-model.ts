import type { ModelSpec } from '../../domain/model';
import { readHuggingFace } from '../../huggingface/reader';
import { differentFields, modelFields } from '../../model/fields';
import { toModelSpec, withDetails } from '../../run/written-model';
import { sentence } from '../../sentence';
import { fieldsSeverity, type ModelGap } from '../writing/remarks';
import { flavorConfig, flavorDetails } from './flavors';

/** Flavors of v0.2.2, the last version that reads TOML, by `model.name`. */
const flavorNames = {
  llama3: ['8B', '70B', '405B'],
  llama4: ['17bx16e', '17bx128e'],
  qwen3: ['0.6B', '1.7B', '4B', '8B', '14B', '32B', '30B-A3B', '235B-A22B'],
  deepseek_v3: ['16B', '236B', '671B'],
  gpt_oss: ['20b', '120b'],
} as const;

/** A flavor that a TOML can name. */
interface Flavor {
  readonly name: string;
  readonly flavor: string;
  readonly model: ModelSpec;
}

let known: readonly Flavor[] | undefined;

/** Every flavor with its model, read once. */
function flavors(): readonly Flavor[] {
  return (known ??= readFlavors());
}

function readFlavors(): readonly Flavor[] {
  return Object.entries(flavorNames).flatMap(([name, ofName]) =>
    ofName.flatMap((flavor) => {
      const config = flavorConfig(name, flavor);
      if (config === null) return [];
      const { model, traits } = readHuggingFace('', config);
      return [{ name, flavor, model: toModelSpec(model, withDetails(traits, flavorDetails(name, flavor))) }];
    }),
  );
}

/** The flavor with the sizes of a model, and of several the one most like it; null: there is none. */
export function findFlavor(model: ModelSpec): Flavor | null {
  const isOfSizes = (flavor: Flavor): boolean =>
    differentFields(model, flavor.model).every((path) => /^(?:details|rotary)\.|^normEpsilon$|^mtpLayers$/.test(path));
  const [best] = flavors()
    .filter(isOfSizes)
    .map((flavor) => ({ flavor, different: differentFields(model, flavor.model).length }))
    .sort((a, b) => a.different - b.different);
  return best?.flavor ?? null;
}

/** In what the flavor that the file names differs from the model; all of the model where no flavor has its sizes. */
export function flavorGaps(model: ModelSpec): readonly ModelGap[] {
  const found = findFlavor(model);
  const own = modelFields(model);
  if (found === null) {
    const text = [...own].map(([path, value]) => `${path} ${valueText(value)}`).join(', ');
    return [
      {
        fields: [...own.keys()],
        severity: 'error',
        what: sentence`its model`,
        reason: sentence`TorchTitan has no flavor of this model: register one and name it in [model] (${text})`,
      },
    ];
  }
  const { name, flavor, model: registered } = found;
  const there = modelFields(registered);
  const fields = withoutParts(differentFields(model, registered));
  if (fields.length === 0) return [];
  const valueIn = (values: ReadonlyMap<string, unknown>, path: string): string =>
    valueText(values.get(path === scalingField ? `${path}.kind` : path));
  const text = fields.map((path) => `${path} ${valueIn(there, path)} instead of ${valueIn(own, path)}`).join(', ');
  const what = sentence`this model`;
  return [{ fields, severity: fieldsSeverity(fields), what, reason: sentence`TorchTitan's ${name} ${flavor} is another model: ${text}` }];
}

const scalingField = 'rotary.scaling';

/** Scalings of two kinds as one field. */
function withoutParts(paths: readonly string[]): readonly string[] {
  if (!paths.includes(`${scalingField}.kind`)) return paths;
  return [...paths.filter((path) => !path.startsWith(`${scalingField}.`)), scalingField];
}

function valueText(value: unknown): string {
  if (value === undefined) return 'none';
  return Array.isArray(value) ? [...new Set(value.map(String))].join(' ') : JSON.stringify(value).replaceAll('"', '');
}
