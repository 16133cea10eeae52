/** A decoder-only Transformer as planning sees it: sizes, nothing of any framework. Lengths in tokens, widths in elements. */
export interface ModelSpec {
  /** As the file calls it (`gpt2`, `llama`, ...), or `custom` for numbers given inline. */
  readonly modelType: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  /** Key/value heads; equal to `heads` without grouped-query attention. */
  readonly kvHeads: number;
  readonly headDim: number;
  /** Feed-forward width, of one matrix; of one expert when there are experts. */
  readonly ffn: number;
  /** Two up projections (gate and up), as SwiGLU has. */
  readonly gatedMlp: boolean;
  /** 0: the model has neither embedding nor head (as TeraPipe's own benchmark). */
  readonly vocab: number;
  readonly tiedEmbeddings: boolean;
  /** Longest sequence the positions allow; null when the file does not limit it. */
  readonly maxPositions: number | null;
  /** Learned position table (adds parameters) or rotary (adds none). */
  readonly positions: 'learned' | 'rotary' | 'none';
  /** LayerNorm has weight and bias, RMSNorm only weight. */
  readonly norm: 'layernorm' | 'rmsnorm';
  readonly qkvBias: boolean;
  readonly attentionOutputBias: boolean;
  readonly mlpBias: boolean;
  /** Per-head RMSNorm of q and k (qwen3). */
  readonly qkNorm: boolean;
  /**
   * Feed-forward networks of every layer between which a router chooses for each token: how many there are, and how many a token visits (1 <= active <= count). The router
   * is one matrix hidden x count without bias; no expert is shared by all tokens. null: dense, one network for all tokens.
   */
  readonly experts: { readonly count: number; readonly active: number } | null;
}
