import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../../../src/cli/run-command';

const shared = path.join(import.meta.dirname, '../../../../../shared');

interface GoldenCase {
  readonly id: string;
  readonly format: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Names of the golden file beside those that inspect prints. */
const names: Readonly<Record<string, string>> = {
  ...{ layers: 'layers', hidden: 'hidden', heads: 'heads', kv_heads: 'kvHeads', head_dim: 'headDim', ffn: 'ffn', vocab: 'vocab' },
  ...{ max_seq: 'maxPositions', tie: 'tiedEmbeddings', sliding_window: 'slidingWindow', sliding_window_active: 'slidingWindowActive' },
  ...{ experts: 'experts', experts_per_token: 'activeExperts', moe_ffn: 'expertFfn', shared_experts: 'sharedExperts' },
  ...{ first_dense_layers: 'firstDenseLayers', q_lora_rank: 'qLoraRank', kv_lora_rank: 'kvLoraRank', qk_nope_head_dim: 'qkNopeHeadDim' },
  ...{ qk_rope_head_dim: 'qkRopeHeadDim', v_head_dim: 'vHeadDim', mtp_layers: 'mtpLayers', decoder_sparse_step: 'decoderSparseStep' },
};

async function inspect(file: string): Promise<Readonly<Record<string, unknown>>> {
  const out: string[] = [];
  const status = await runCommand(['inspect', file, '--json'], {
    out: (text) => out.push(text),
    err: () => undefined,
    clock: () => 0,
    now: () => '',
    ...{ progress: () => undefined, status: () => undefined },
    signal: new AbortController().signal,
    profilerFile: '',

    shell: () => Promise.reject(new Error('no shell here')),
    debug: false,
  });
  assert.equal(status, 0, `${file}: ${out.join('')}`);
  return (JSON.parse(out.join('')) as { readonly model: Readonly<Record<string, unknown>> }).model;
}

describe('real HuggingFace configs', () => {
  it('give every fact of their golden rows to terapipe inspect', async function () {
    const golden = path.join(shared, 'golden/configs.json');
    if (!existsSync(golden)) {
      console.log('      skipped: ../shared/golden/configs.json is not here');
      this.skip();
    }
    const { cases } = JSON.parse(readFileSync(golden, 'utf8')) as { readonly cases: readonly GoldenCase[] };
    const ours = cases.filter(({ format }) => format === 'hf');
    assert.ok(ours.length >= 15);
    for (const { id, expected } of ours) {
      const model = await inspect(path.join(shared, id));
      const { model_type: written, inferred_model_type: inferred, ...facts } = expected;
      assert.equal(model['modelType'], written ?? inferred, id);
      for (const [key, value] of Object.entries(facts)) {
        if (key === 'note') continue;
        const name = names[key];
        assert.ok(name !== undefined, `a golden fact without a name of ours: ${key}`);
        assert.equal(model[name], value, `${id}: ${key}`);
      }
    }
  });
});
