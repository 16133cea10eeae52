import { TensorProto_DataType as DataType } from 'onnx-buf';
import { graphWriter, type GraphWriter } from './graphs';

/** GPT-2 as torch's exporter writes it. Sizes differ from each other so that no two can be mixed up unnoticed. */
export interface Gpt2Options {
  readonly layers?: number;
  readonly hidden?: number;
  readonly heads?: number;
  readonly ffn?: number;
  readonly vocab?: number;
  readonly positions?: number;
  /** Conv1D keeps the names of weights and becomes a Gemm; Linear loses them and becomes MatMul and Add. */
  readonly style?: 'conv1d' | 'linear';
  readonly past?: boolean;
  /** Shapes of reshapes are constants, computed, or computed with -1 for the heads. */
  readonly reshapes?: 'constant' | 'inferred' | 'computed';
  /** Equal biases and norms of all layers share one initializer, that of the first layer. */
  readonly merged?: boolean;
  readonly nodeNames?: boolean;
  readonly norms?: 'operator' | 'pattern';
  readonly external?: boolean;
  readonly type?: DataType;
  /** The head multiplies with the table itself, turned in the graph, or with a turned copy of it. */
  readonly head?: 'table' | 'copy' | 'own' | 'none';
  /** Columns of a head of its own. */
  readonly headWidth?: number;
}

export const gpt2Sizes = { layers: 3, hidden: 48, heads: 4, ffn: 160, vocab: 211, positions: 96 };

export function gpt2(options: Gpt2Options = {}): GraphWriter {
  const { layers, hidden, heads, ffn, vocab, positions, type } = { ...gpt2Sizes, type: DataType.FLOAT, ...options };
  const { style = 'conv1d', past = true, reshapes = 'constant', merged = false, norms = 'operator', head = 'table' } = options;
  const g = graphWriter(options);
  const ids = g.input('input_ids', ['batch', 'tokens'], DataType.INT64);
  const tokens = g.node('Gather', [g.node('Shape', [ids]), g.constant([1])]);
  const lead = (): string[] => [g.node('Unsqueeze', [tokens]), g.node('Unsqueeze', [tokens])];
  const headDim = hidden / heads;
  const split = (x: string): string => {
    const tail = reshapes === 'constant' ? [heads, headDim] : reshapes === 'inferred' ? [-1, headDim] : null;
    const ends = tail === null ? [g.node('Unsqueeze', [tokens])] : tail.map((extent) => g.constant([extent]));
    return g.node('Reshape', [x, g.node('Concat', [...lead(), ...ends], { axis: 0 })]);
  };
  const vector = (layer: number, name: string, width: number): string =>
    g.weight(`transformer.h.${merged ? 0 : layer}.${name}`, [width], type);
  const linear = (x: string, layer: number, name: string, [rows, columns]: readonly [number, number]): string => {
    const bias = vector(layer, `${name}.bias`, columns);
    if (style === 'linear') return g.node('Add', [bias, g.node('MatMul', [x, g.anonymous([rows, columns], type)])]);
    const flat = g.node('Reshape', [x, g.constant([-1, rows])]);
    const product = g.node('Gemm', [flat, g.weight(`transformer.h.${layer}.${name}.weight`, [rows, columns], type), bias]);
    return g.node('Reshape', [product, g.node('Concat', [...lead(), g.constant([columns])], { axis: 0 })]);
  };
  const norm = (x: string, gain: string, shift: string): string => {
    if (norms === 'operator') return g.node('LayerNormalization', [x, gain, shift], { axis: -1 });
    const centred = g.node('Sub', [x, g.node('ReduceMean', [x])]);
    const mean = g.node('ReduceMean', [g.node('Pow', [centred, g.constant([2])])]);
    const scaled = g.node('Div', [centred, g.node('Sqrt', [g.node('Add', [mean, g.constant([1])])])]);
    return g.node('Add', [g.node('Mul', [scaled, gain]), shift]);
  };
  const gelu = (x: string): string => {
    const cube = g.node('Mul', [g.node('Pow', [x, g.constant([3])]), g.constant([1])]);
    const inner = g.node('Tanh', [g.node('Mul', [g.node('Add', [x, cube]), g.constant([1])])]);
    return g.node('Mul', [g.node('Mul', [x, g.constant([1])]), g.node('Add', [inner, g.constant([1])])]);
  };

  const table = g.weight('transformer.wte.weight', [vocab, hidden], type);
  const at = g.node('Range', [tokens]);
  let x = g.node('Add', [
    g.node('Gather', [table, ids]),
    g.node('Gather', [g.weight('transformer.wpe.weight', [positions, hidden], type), at]),
  ]);
  for (let layer = 0; layer < layers; layer += 1) {
    const name = `/transformer/h.${layer}`;
    const normed = norm(x, vector(layer, 'ln_1.weight', hidden), vector(layer, 'ln_1.bias', hidden));
    g.node('Split', [linear(normed, layer, 'attn.c_attn', [hidden, 3 * hidden])], { axis: 2 }, `${name}/attn/Split`, 3);
    const [q = '', k = '', v = ''] = g.lastOutputs();
    const cached = (value: string, kind: string): string => {
      const turned = g.node('Transpose', [split(value)], { perm: [0, 2, 1, 3] });
      if (!past) return turned;
      return g.node('Concat', [g.input(`past_key_values.${layer}.${kind}`, ['batch', heads, 'past', headDim]), turned], { axis: 2 });
    };
    const scores = g.node('MatMul', [g.node('Transpose', [split(q)]), g.node('Transpose', [cached(k, 'key')])], {}, `${name}/attn/MatMul`);
    const masked = g.node('Where', [
      g.node('Shape', [normed]),
      g.node('Div', [scores, g.node('Sqrt', [g.constant([headDim])])]),
      g.constant([0]),
    ]);
    const softmax = g.node('Softmax', [masked], {}, `${name}/attn/Softmax`);
    // Probabilities are computed in fp32.
    const weights = type === DataType.FLOAT ? softmax : g.node('Cast', [softmax]);
    const context = g.node('MatMul', [weights, cached(v, 'value')]);
    const joined = g.node('Reshape', [g.node('Transpose', [context]), g.node('Concat', [...lead(), g.constant([hidden])], { axis: 0 })]);
    x = g.node('Add', [linear(joined, layer, 'attn.c_proj', [hidden, hidden]), x], {}, `${name}/Add`);
    const second = norm(x, vector(layer, 'ln_2.weight', hidden), vector(layer, 'ln_2.bias', hidden));
    const up = gelu(linear(second, layer, 'mlp.c_fc', [hidden, ffn]));
    x = g.node('Add', [x, linear(up, layer, 'mlp.c_proj', [ffn, hidden])]);
  }
  const last = norm(x, g.weight('transformer.ln_f.weight', [hidden], type), g.weight('transformer.ln_f.bias', [hidden], type));
  if (head === 'none') g.output(last, 'last_hidden_state', ['batch', 'tokens', hidden]);
  else {
    const weight =
      head === 'table'
        ? g.node('Transpose', [table])
        : head === 'copy'
          ? g.anonymous([hidden, vocab], type)
          : g.weight('lm_head.weight', [hidden, options.headWidth ?? vocab], type);
    g.output(g.node('MatMul', [last, weight]), 'logits', ['batch', 'tokens', vocab]);
  }
  return g;
}

export interface LlamaOptions {
  readonly past?: boolean;
  readonly qkvBias?: boolean;
  readonly qkNorm?: boolean;
  /** Networks of every layer, of which a router picks two for each token. */
  readonly experts?: number;
  /** Head counts in reshapes: -1 with the head size, as transformers 4.48 and later write, or computed. */
  readonly reshapes?: 'inferred' | 'computed';
}

export const llamaSizes = { layers: 2, hidden: 64, heads: 6, kvHeads: 2, headDim: 16, ffn: 176, vocab: 300 };

/** A Llama with grouped-query attention and queries wider than the model, as Optimum writes it. */
export function llama(options: LlamaOptions = {}): GraphWriter {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab } = llamaSizes;
  const { past = true, qkvBias = false, qkNorm = false, experts = 0, reshapes = 'inferred' } = options;
  const g = graphWriter();
  const ids = g.input('input_ids', ['batch', 'tokens'], DataType.INT64);
  const positions = g.input('position_ids', ['batch', 'tokens'], DataType.INT64);
  const inverse = g.weight('model.rotary_emb.inv_freq', [1, headDim / 2, 1]);
  const angles = g.node('Transpose', [g.node('MatMul', [inverse, g.node('Unsqueeze', [positions])])]);
  const turns = [g.node('Cos', [angles]), g.node('Sin', [angles])] as const;
  const rotated = (x: string): string => g.node('Add', [g.node('Mul', [x, turns[0]]), g.node('Mul', [g.node('Neg', [x]), turns[1]])]);
  const norm = (x: string, name: string, width: number): string => {
    const mean = g.node('ReduceMean', [g.node('Pow', [x, g.constant([2])])]);
    const inverseRoot = g.node('Reciprocal', [g.node('Sqrt', [g.node('Add', [mean, g.constant([1])])])]);
    return g.node('Mul', [g.weight(name, [width]), g.node('Cast', [g.node('Mul', [x, inverseRoot])])]);
  };
  let x = g.node('Gather', [g.weight('model.embed_tokens.weight', [vocab, hidden]), ids]);
  for (let layer = 0; layer < layers; layer += 1) {
    const name = `model.layers.${layer}`;
    const node = `/model/layers.${layer}`;
    const linear = (value: string, label: string, rows: number, columns: number, bias = false): string => {
      const product = g.node('MatMul', [value, g.anonymous([rows, columns])], {}, `${node}/${label}/MatMul`);
      return bias ? g.node('Add', [product, g.weight(`${name}.${label}.bias`, [columns])]) : product;
    };
    const heads4 = (value: string, label: string): string => {
      const ends = reshapes === 'inferred' ? [g.constant([-1]), g.constant([headDim])] : [g.node('Unsqueeze', [positions])];
      const split = g.node('Reshape', [value, g.node('Concat', [g.node('Unsqueeze', [positions]), g.constant([7]), ...ends], { axis: 0 })]);
      return g.node('Transpose', [qkNorm && label !== 'v' ? norm(split, `${name}.self_attn.${label}_norm.weight`, headDim) : split]);
    };
    const cached = (value: string, kind: string): string => {
      const all = past
        ? g.node('Concat', [g.input(`past_key_values.${layer}.${kind}`, ['batch', kvHeads, 'past', headDim]), value], { axis: 2 })
        : value;
      return g.node('Reshape', [
        g.node('Expand', [g.node('Unsqueeze', [all])]),
        g.node('Concat', [g.constant([1, heads]), g.constant([-1, headDim])]),
      ]);
    };
    const normed = norm(x, `${name}.input_layernorm.weight`, hidden);
    const q = rotated(heads4(linear(normed, 'self_attn/q_proj', hidden, heads * headDim, qkvBias), 'q'));
    const k = rotated(heads4(linear(normed, 'self_attn/k_proj', hidden, kvHeads * headDim, qkvBias), 'k'));
    const v = heads4(linear(normed, 'self_attn/v_proj', hidden, kvHeads * headDim, qkvBias), 'v');
    const scores = g.node('Mul', [g.node('MatMul', [q, g.node('Transpose', [cached(k, 'key')])]), g.constant([1])]);
    const context = g.node('MatMul', [g.node('Softmax', [g.node('Add', [scores, g.node('Trilu', [positions])])]), cached(v, 'value')]);
    const joined = g.node('Reshape', [
      g.node('Transpose', [context]),
      g.node('Concat', [g.constant([1, 7]), g.constant([-1])], { axis: 0 }),
    ]);
    x = g.node('Add', [x, linear(joined, 'self_attn/o_proj', heads * headDim, hidden)]);
    const second = norm(x, `${name}.post_attention_layernorm.weight`, hidden);
    const network = (label: string): string => {
      const gate = linear(second, `${label}/gate_proj`, hidden, ffn);
      const gated = g.node('Mul', [g.node('Mul', [gate, g.node('Sigmoid', [gate])]), linear(second, `${label}/up_proj`, hidden, ffn)]);
      return linear(gated, `${label}/down_proj`, ffn, hidden);
    };
    if (experts === 0) {
      x = g.node('Add', [x, network('mlp')]);
      continue;
    }
    const chosen = g.node('TopK', [g.node('Softmax', [linear(second, 'mlp/gate', hidden, experts)]), g.constant([2])], {}, '', 2);
    for (let expert = 0; expert < experts; expert += 1) x = g.node('Add', [x, g.node('Mul', [network(`mlp/experts.${expert}`), chosen])]);
  }
  g.output(g.node('MatMul', [norm(x, 'model.norm.weight', hidden), g.anonymous([hidden, vocab])]), 'logits', ['batch', 'tokens', vocab]);
  return g;
}

export const packedSizes = { layers: 2, hidden: 128, heads: 8, kvHeads: 2, headDim: 16, ffn: 320, vocab: 500, positions: 256 };

/**
 * A Llama as the model builder of ONNX Runtime writes it: 4-bit weights, GroupQueryAttention, skip norms, and the last norm numbered like a
 * layer.
 */
export function packedLlama(): GraphWriter {
  const { layers, hidden, heads, kvHeads, headDim, ffn, vocab, positions } = packedSizes;
  const g = graphWriter();
  const half = DataType.FLOAT16;
  const linear = (x: string, name: string, rows: number, columns: number): string =>
    g.node(
      'com.microsoft:MatMulNBits',
      [
        x,
        g.weight(`${name}.MatMul.weight_Q4`, [columns, rows / 32, 16], DataType.UINT8),
        g.weight(`${name}.MatMul.weight_scales`, [(columns * rows) / 32], half),
      ],
      { K: rows, N: columns, bits: 4, block_size: 32 },
      `/${name}/MatMul_Q4`,
    );
  const ids = g.input('input_ids', ['batch', 'tokens'], DataType.INT64);
  g.input('attention_mask', ['batch', 'all'], DataType.INT64);
  const caches = [g.weight('cos_cache', [positions, headDim / 2], half), g.weight('sin_cache', [positions, headDim / 2], half)];
  let x = g.node('Gather', [g.weight('model.embed_tokens.weight', [vocab, hidden], half), ids], {}, '/model/embed_tokens/Gather');
  let added: string | null = null;
  const norm = (name: string): string => {
    const gain = g.weight(`${name}.weight`, [hidden], half);
    if (added === null) return g.node('SimplifiedLayerNormalization', [x, gain], {}, `/${name}/LayerNorm`);
    const normed = g.node('com.microsoft:SkipSimplifiedLayerNormalization', [x, added, gain], {}, `/${name}/SkipLayerNorm`, 4);
    x = g.lastOutputs()[3] ?? '';
    return normed;
  };
  for (let layer = 0; layer < layers; layer += 1) {
    const name = `model.layers.${layer}`;
    const qkv = linear(norm(`${name}.input_layernorm`), `${name}.attn.qkv_proj`, hidden, (heads + 2 * kvHeads) * headDim);
    const past = ['key', 'value'].map((kind) => g.input(`past_key_values.${layer}.${kind}`, ['batch', kvHeads, 'past', headDim], half));
    const attended = g.node(
      'com.microsoft:GroupQueryAttention',
      [qkv, '', '', ...past, 'seqlens_k', 'total', ...caches],
      { num_heads: heads, kv_num_heads: kvHeads, do_rotary: 1, scale: 0.25 },
      `/${name}/attn/GroupQueryAttention`,
    );
    added = linear(attended, `${name}.attn.o_proj`, heads * headDim, hidden);
    const second = norm(`${name}.post_attention_layernorm`);
    const gate = linear(second, `${name}.mlp.gate_proj`, hidden, ffn);
    const gated = g.node('Mul', [g.node('Mul', [gate, g.node('Sigmoid', [gate])]), linear(second, `${name}.mlp.up_proj`, hidden, ffn)]);
    added = linear(gated, `${name}.mlp.down_proj`, ffn, hidden);
  }
  g.output(linear(norm(`model.layers.${layers}.final_norm_layernorm`), 'lm_head', hidden, vocab), 'logits', ['batch', 'tokens', vocab]);
  return g;
}

/** GPT-2 after ONNX Runtime's transformer optimizer: the projection of queries, keys and values is inside the attention. */
export function fusedGpt2(): GraphWriter {
  const { layers, hidden, heads, ffn, vocab, positions } = gpt2Sizes;
  const g = graphWriter({ nodeNames: false });
  const half = DataType.FLOAT16;
  const table = g.weight('wte', [vocab, hidden], half);
  const ids = g.input('input_ids', ['batch', 'tokens'], DataType.INT32);
  let x = g.node('com.microsoft:EmbedLayerNormalization', [ids, '', table, g.weight('wpe', [positions, hidden], half)], {}, '', 3);
  for (let layer = 0; layer < layers; layer += 1) {
    const bias = (name: string, width: number): string => g.weight(`${name}_${layer}`, [width], half);
    const past = g.input(`past_${layer}`, [2, 'batch', heads, 'past', hidden / heads], half);
    const normed = g.node('LayerNormalization', [x, bias('g', hidden), bias('s', hidden)]);
    const attended = g.node(
      'com.microsoft:Attention',
      [normed, g.anonymous([hidden, 3 * hidden], half), bias('qkv', 3 * hidden), '', past],
      {
        num_heads: heads,
        unidirectional: 1,
      },
    );
    const projected = g.node('MatMul', [attended, g.anonymous([hidden, hidden], half)]);
    const second = g.node(
      'com.microsoft:SkipLayerNormalization',
      [projected, x, bias('g2', hidden), bias('s2', hidden), bias('o', hidden)],
      {},
      '',
      4,
    );
    const up = g.node('com.microsoft:FastGelu', [g.node('MatMul', [second, g.anonymous([hidden, ffn], half)]), bias('up', ffn)]);
    x = g.node('Add', [g.node('MatMul', [up, g.anonymous([ffn, hidden], half)]), bias('down', hidden)]);
  }
  g.output(g.node('MatMul', [x, g.node('Transpose', [table])]), 'logits', ['batch', 'tokens', vocab]);
  return g;
}

export const bertSizes = { layers: 2, hidden: 40, heads: 5, ffn: 120, vocab: 333, positions: 64 };

/** A BERT: norms after the sums, projections apart, a third table for segments, and a pooler at its end. */
export function bert(): GraphWriter {
  const { layers, hidden, heads, ffn, vocab, positions } = bertSizes;
  const g = graphWriter();
  const [ids, segments] = ['input_ids', 'token_type_ids'].map((name) => g.input(name, ['batch', 'tokens'], DataType.INT64));
  const table = (name: string, rows: number, index: string | undefined): string =>
    g.node('Gather', [g.weight(`embeddings.${name}_embeddings.weight`, [rows, hidden]), index ?? '']);
  const norm = (x: string, name: string): string =>
    g.node('LayerNormalization', [x, g.weight(`${name}.weight`, [hidden]), g.weight(`${name}.bias`, [hidden])]);
  const linear = (x: string, name: string, rows: number, columns: number): string =>
    g.node('Add', [g.weight(`${name}.bias`, [columns]), g.node('MatMul', [x, g.anonymous([rows, columns])])]);
  const embedded = g.node('Add', [table('word', vocab, ids), table('token_type', 2, segments)]);
  let x = norm(
    g.node('Add', [embedded, table('position', positions, g.node('Range', [g.node('Shape', [ids ?? ''])]))]),
    'embeddings.LayerNorm',
  );
  for (let layer = 0; layer < layers; layer += 1) {
    const name = `encoder.layer.${layer}`;
    const projected = (kind: string): string =>
      g.node('Transpose', [
        g.node('Reshape', [linear(x, `${name}.attention.self.${kind}`, hidden, hidden), g.integers([0, 0, heads, hidden / heads])]),
      ]);
    const scores = g.node('Softmax', [g.node('MatMul', [projected('query'), g.node('Transpose', [projected('key')])])]);
    const joined = g.node('Reshape', [g.node('Transpose', [g.node('MatMul', [scores, projected('value')])]), g.integers([0, 0, hidden])]);
    x = norm(g.node('Add', [linear(joined, `${name}.attention.output.dense`, hidden, hidden), x]), `${name}.attention.output.LayerNorm`);
    const up = linear(x, `${name}.intermediate.dense`, hidden, ffn);
    const gelu = g.node('Mul', [up, g.node('Add', [g.node('Erf', [g.node('Div', [up, g.constant([2])])]), g.constant([1])])]);
    x = norm(g.node('Add', [linear(gelu, `${name}.output.dense`, ffn, hidden), x]), `${name}.output.LayerNorm`);
  }
  g.output(x, 'last_hidden_state', ['batch', 'tokens', hidden]);
  g.output(g.node('Tanh', [linear(g.node('Gather', [x, g.constant([0])]), 'pooler.dense', hidden, hidden)]), 'pooler_output', [
    'batch',
    hidden,
  ]);
  return g;
}
