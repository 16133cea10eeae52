import * as v from 'valibot';

const setValue = v.union([
  v.pipe(v.string(), v.maxLength(2000)),
  v.number(),
  v.boolean(),
  v.pipe(v.array(v.union([v.string(), v.number(), v.array(v.number())])), v.maxLength(1000)),
]);

const count = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000));

/** Settings by keys of terapipe.json. */
export const set = v.pipe(
  v.record(v.pipe(v.string(), v.maxLength(200)), setValue),
  v.maxEntries(60),
  v.description('Settings over those of the file, as {"layout.tensor": 8, "training.microBatch": 1}; terapipe_values lists keys'),
);

const text = (description: string, most = 4096) => v.pipe(v.string(), v.minLength(1), v.maxLength(most), v.description(description));

/** Names a config: a file, or a text with a name. */
export const configEntries = {
  path: v.optional(text('File to read, inside the workspace: config.json, a launch script, YAML, TOML or terapipe.json')),
  text: v.optional(text('The content of a config, in place of path', 1_000_000)),
  name: v.optional(text('File name that gives the format of text, as train.sh or config.json', 255)),
};

/** Names a config and the machine it is planned for. */
export const askedEntries = {
  ...configEntries,
  gpu: v.optional(text('GPU preset, as H100-80GB, B200, MI300X; over what the file sets', 100)),
  nodes: v.optional(v.pipe(count, v.description('Nodes, over what the file sets'))),
  gpus: v.optional(v.pipe(count, v.description('GPUs of all nodes together, where the file sets none'))),
  set: v.optional(set),
};

export type ConfigQuestion = v.InferOutput<v.ObjectSchema<typeof askedEntries, undefined>>;
