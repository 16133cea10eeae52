import assert from 'node:assert/strict';
import { ExpectedError } from '../../../../src/core/errors';
import { families } from '../../../../src/core/huggingface/families';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { readHuggingFace, type HuggingFaceModel } from '../../../../src/core/huggingface/reader';
import { say, sentence } from '../../../../src/core/sentence';
import { golden } from '../../../golden/data';

interface Case {
  readonly id: string;
  readonly parameters: number | null;
  readonly config: { readonly model_type: string; readonly text_config?: { readonly model_type?: string } };
}

interface Reference {
  readonly cases: readonly Case[];
  readonly further: readonly Case[];
  readonly defaults: Readonly<Record<string, number>>;
}

/** The text on one config: its parameters, or why there are none, and whether that comes with a warning. */
interface Counted {
  readonly parameters: number | null;
  readonly refused: string | null;
  readonly warned: boolean;
}

function counted(config: object): Counted {
  try {
    const found: HuggingFaceModel = readHuggingFace('config.json', JSON.stringify(config));
    const parameters = countModelParameters(found);
    const warned = found.remarks.some(({ severity }) => severity === 'warning');
    return { parameters, refused: parameters === null ? say(found.unplanned?.message ?? sentence``) : null, warned };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return { parameters: null, refused: error.message, warned: false };
  }
}

describe('parameters that transformers builds', () => {
  const { cases, further, defaults } = golden('transformers-parameters') as Reference;
  const known = cases.filter(({ parameters }) => parameters !== null).map((entry) => ({ ...entry, found: counted(entry.config) }));
  const share = (parameters: number, { found }: (typeof known)[number]): number => (found.parameters ?? 0) / parameters - 1;

  it('are exact for published sizes of every family that is planned', () => {
    const off = known.filter(
      ({ id, parameters, found }) => id.startsWith('published') && found.refused === null && found.parameters !== parameters,
    );
    assert.deepEqual(
      off.map(({ id }) => id),
      [],
    );
  });

  it('are exact, or no count is given and words explain why, for 95 in 100 files', () => {
    const off = known.filter(({ parameters, found }) => found.refused === null && found.parameters !== parameters);
    assert.ok(known.every(({ found }) => found.refused !== ''));
    assert.ok(off.length <= 0.05 * known.length, off.map(({ id }) => id).join('\n'));
  });

  it('are never off by more than 5 % without a warning', () => {
    const unsaid = known.filter(
      (entry) => entry.found.refused === null && !entry.found.warned && Math.abs(share(entry.parameters ?? 0, entry)) > 0.05,
    );
    assert.deepEqual(
      unsaid.map(({ id }) => id),
      [],
    );
  });

  it('are those of the classes with their defaults, when a config gives no size', () => {
    // transformers 5 ties embedding and head of these two whatever their files say; the files that are published say that they are not
    const otherwise = new Set(['mt5', 'umt5', 'glm_moe_dsa', 'whisper']);
    const off = Object.entries(defaults).flatMap(([model_type, parameters]) => {
      if (!Object.hasOwn(families, model_type) || otherwise.has(model_type)) return [];
      const { parameters: ours, refused } = counted({ model_type, architectures: ['BertForMaskedLM'] });
      return refused !== null || ours === parameters ? [] : [`${model_type}: ${ours} for ${parameters}`];
    });
    assert.deepEqual(off, []);
  });

  it('are exact for further sizes and text towers', () => {
    const off = further.filter(({ config, parameters }) => counted(config).parameters !== parameters);
    assert.deepEqual(
      off.map(({ id }) => id),
      [],
    );
  });

  it('hold every family but those whose class is that of another', () => {
    const types = [...cases, ...further].flatMap(({ config: { model_type, text_config } }) => [model_type, text_config?.model_type ?? '']);
    const held = new Set([...Object.keys(defaults), ...types]);
    assert.deepEqual(
      Object.keys(families).filter((name) => !held.has(name)),
      'ministral kimi_k2 hunyuan_v1_moe llama-params deepseek-params open-lm baichuan chatglm deepseek internlm internlm2 minicpm molmo qwen Yi distilbert vit'.split(
        ' ',
      ),
    );
  });
});
