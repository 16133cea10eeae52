/**
 * Flags of each program of the Megatron-LM family whose name touches model, parallelism, batch or memory, as `test/witness/flags.py` reads
 * them in its source: `!` is behind a switch, `*` behind a flag that takes several words. Each flag once, at the first program that has it:
 * NVIDIA's at d98e8a64, core 0.13, core 0.8 and 23.04; MindSpeed-LLM at c77308a1 with MindSpeed at 028de58c; Pai at a098ca5a; zero-bubble
 * at 39f2c186; Seq1F1B at 6893466; BigScience's at 8387ae17; Microsoft's at f4157bea; MegaBlocks' at 85f95aef; DeepSpeed at 38327e07.
 */
const tables: Readonly<Record<string, string>> = {
  'Megatron-LM': `
account-for-embedding-in-pipeline-split! account-for-loss-in-pipeline-split! activation-func activation-func-clamp-value
activation-func-fp8-input-store! activation-offload-fraction allow-cross-sample-attention! apply-layernorm-1p!
apply-query-key-layer-scaling! apply-residual-connection-post-layernorm! apply-wd-to-qk-layernorm!
async-tensor-model-parallel-allreduce! attention attention-backend attention-dropout attention-output-gate! attention-softmax-in-fp32!
autocast-dtype batch-boundaries batch-invariant-backend batch-invariant-mode! batch-p2p-comm! batch-p2p-sync! batch-size
bert-embedder-type bert-no-binary-head! bf16! bias-activation-fusion! biencoder-shared-query-context-model! cache-mla-latents!
calib-batch-size calib-max-sequence-length checkpoint-activations! chunk-size chunk0! ckpt-fully-parallel-load!
ckpt-fully-parallel-load-exchange-algo ckpt-fully-parallel-load-per-rank-objects! ckpt-fully-parallel-load-process-group
ckpt-fully-parallel-save! ckpt-fully-parallel-save-process-group ckpt-load-validate-sharding-integrity! ckpt-pg-tensors-cache-create!
ckpt-pg-tensors-cache-path clone-scatter-output-in-embedding! context-parallel-size conv-states-dtype coordinator-schedule-output-path
copy-vocab-from cpu-offloading! cpu-offloading-activations! cpu-offloading-double-buffering! cpu-offloading-num-layers
cpu-offloading-retain-pinned-cpu-buffers! cpu-offloading-weights! data-parallel-random-init! data-parallel-sharding-strategy
dataloader-seq-length deallocate-pipeline-outputs! decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers decoder-num-layers
decoder-seq-length decrease-batch-size-if-needed! defer-embedding-wgrad-compute! delay-offload-until-cuda-graph!
delta-offload-bytes-across-pp-ranks dino-freeze-last-layer dino-head-hidden-size dino-norm-last-layer!
disable-bf16-reduced-precision-matmul! disable-mamba-mem-eff-path! dist-ckpt-optim-fully-reshardable!
distrib-optim-fully-reshardable-mem-efficient! distribute-saved-activations! download-vocab! drain-between-batches! dsa-indexer-head-dim
dsa-indexer-n-heads dsa-indexer-rotate-activation! embedding-init-method embedding-init-method-std embedding-path
empty-unused-memory-level enable-chunked-prefill! enable-full-sharding-in-hsdp! encoder-attention-dropout encoder-hidden-dropout
encoder-layers encoder-num-layers encoder-pipeline-model-parallel-size encoder-seq-length encoder-tensor-model-parallel-size
ep-overlap-early-attn-memory-release! eval-global-batch-size eval-micro-batch-size exp-avg-dtype exp-avg-sq-dtype
experimental-attention-variant experimental-attention-variant-loss-scale-func expert-gtp-weight-remat-size expert-model-parallel-size
expert-tensor-parallel-num-weight-shards expert-tensor-parallel-size export-draft-vocab-size export-force-local-attention!
export-freeze-mtp* export-moe-apply-probs-on-input! export-num-eagle-layers export-num-medusa-heads export-num-mtp ffn-hidden-size
fine-grained-activation-offloading! fine-grained-offloading-max-inflight-offloads first-last-layers-bf16! flash-attention-version
flex-hetero-ffn! flex-hetero-mamba! flex-hetero-moe-expert! force-mamba* force-mlp* fp16! fp16-lm-cross-entropy! fp4 fp4-param!
fp4-param-gather! fp4-quantizer-factory fp4-recipe fp8 fp8-amax-compute-algo fp8-amax-history-len fp8-dot-product-attention! fp8-e4m3!
fp8-format fp8-hybrid! fp8-interval fp8-margin fp8-multi-head-attention! fp8-output-proj! fp8-param! fp8-param-gather!
fp8-quantizer-factory fp8-recipe fp8-wgrad! freeze-all-layers! freeze-base-for-mtp! fsdp-all-gather-in-start-param-sync!
fsdp-db-use-persist-buf-on-alloc-fail! fsdp-double-buffer! fsdp-manual-registration! fully-parallel-load! fully-parallel-save!
gdp-num-chunk-states-to-recompute global-batch-size grad-reduce-in-bf16! group-query-attention! gtp-expert-remat-nccl-ub! head-lr-mult
heterogeneous-layers-config-encoded-json heterogeneous-layers-config-path hidden-dropout hidden-size
hierarchical-context-parallel-sizes* hybrid-attention-ratio hybrid-context-parallel! hybrid-layer-pattern hybrid-mlp-ratio ict-head-size
image-seq-length img-embedding-idx indexer-batch-size inference-batch-times-seqlen-threshold inference-dynamic-batching!
inference-dynamic-batching-async-sched-mode inference-dynamic-batching-block-size inference-dynamic-batching-buffer-guaranteed-fraction
inference-dynamic-batching-buffer-overflow-factor inference-dynamic-batching-buffer-size-gb inference-dynamic-batching-chunk-size
inference-dynamic-batching-cuda-graph-mixed-prefill-count inference-dynamic-batching-cuda-graph-sizing-distribution
inference-dynamic-batching-enable-prefix-caching! inference-dynamic-batching-logprobs-mode inference-dynamic-batching-mamba-memory-ratio
inference-dynamic-batching-max-requests inference-dynamic-batching-max-requests-override inference-dynamic-batching-max-tokens
inference-dynamic-batching-max-tokens-override inference-dynamic-batching-num-cuda-graphs
inference-dynamic-batching-paused-buffer-size-gb inference-dynamic-batching-prefix-caching
inference-dynamic-batching-prefix-caching-coordinator-policy inference-dynamic-batching-prefix-caching-eviction-policy
inference-dynamic-batching-prefix-caching-mamba-gb inference-dynamic-batching-prefix-caching-routing-alpha
inference-dynamic-batching-sampling-backend inference-dynamic-batching-track-generated-token-events!
inference-dynamic-batching-track-paused-request-events! inference-dynamic-batching-unified-memory-level inference-max-seq-length
inference-moe-disable-fused-quant-kernels! inference-moe-token-dispatcher-type inference-shards inference-tensor-parallel
input-pipeline-parallel is-first-stage! is-last-stage! jaccard-parallel! keep-fp8-transpose-cache!
keep-fp8-transpose-cache-when-using-custom-fsdp! keep-sequential-samples! kitchen-attention-backend kv-lora-rank layer-number
layer-ranking-list* layer-type-list* layernorm-epsilon layernorm-zero-centered-gamma! layers linear-attention-freq* linear-key-head-dim
linear-num-key-heads linear-num-value-heads linear-value-head-dim log-batch-size-to-tensorboard! log-device-memory-used!
log-l2-norm-grad-to-tensorboard! log-loss-scale-to-tensorboard! log-max-attention-logit! log-memory-interval log-memory-to-tensorboard!
log-num-zeros-in-grad! log-runtime-to-tensorboard! log-throughput-to-tensorboard! log-timers-to-tensorboard!
log-validation-ppl-to-tensorboard! log-world-size-to-tensorboard! log-zero-guard-type log-zero-guard-value logits-save-dtype
main-grads-dtype main-params-dtype make-vocab-size-divisible-by mamba-chunk-size mamba-d-state mamba-head-dim
mamba-inference-conv-states-dtype mamba-inference-ssm-states-dtype mamba-inference-state-config mamba-int-list* mamba-memory-ratio
mamba-num-groups mamba-num-heads mamba-per-list* mamba-state-dim mamba-training-ssm-states-dtype mamba-version mamba2-head-dim
mamba2-n-groups max-batch-size max-position-embeddings max-seqlen-per-dp-cp-rank max-sequence-length megatron-fsdp-cuda-graph-mode!
megatron-fsdp-enable-fine-grained-param-gather! megatron-fsdp-grad-comm-dtype megatron-fsdp-main-grads-dtype
megatron-fsdp-main-params-dtype megatron-fsdp-max-pool-double-buffer! megatron-fsdp-use-decoupled-grad! megatron-fsdp-version
mem-batch-size mem-infer-seq-len memory-efficient-layer-norm! memory-keys memory-profile memory-profile-path memory-snapshot-path
mhc-recompute-layer-num micro-batch-size microbatch-group-size-per-virtual-pipeline-stage microbatch-group-size-per-vp-stage
min-offloaded-tensor-size mix-hidden-states mlp mlp-chunks-for-prefill mlp-chunks-for-training mlp-int-list* mlp-per-list*
mmlu-batch-size model-parallel-size moe-apply-probs-on-input! moe-aux-loss-coeff* moe-combine-bwd-dtype moe-deepep-num-sms
moe-dispatch-fwd-dtype moe-enable-deepep! moe-enable-routing-replay! moe-expert-capacity-factor moe-expert-int-list*
moe-expert-per-list* moe-expert-rank-capacity-factor moe-extended-tp! moe-ffn-hidden-size moe-flex-dispatcher-backend
moe-flex-dispatcher-num-sms moe-grad-scale-func moe-grouped-gemm! moe-hybridep-num-blocks-permute moe-hybridep-num-blocks-unpermute
moe-hybridep-num-sms moe-hybridep-num-sms-preprocessing moe-hybridep-pad-uneven-dispatch-inputs! moe-input-jitter-eps moe-latent-size
moe-layer-freq* moe-layer-recompute! moe-mlp-glu-interleave-size moe-ncclep-zero-copy! moe-pad-expert-input-to-capacity!
moe-pad-experts-for-cuda-graph-inference! moe-paged-stash! moe-paged-stash-buffer-size-factor-cpu
moe-paged-stash-buffer-size-factor-cuda moe-paged-stash-page-size moe-per-layer-logging! moe-permute-fusion!
moe-permute-fusion-into-hybridep! moe-router-bias-update-rate moe-router-dtype moe-router-enable-expert-bias! moe-router-force-biased
moe-router-force-load-balancing! moe-router-fusion! moe-router-group-topk moe-router-load-balancing-type* moe-router-num-groups
moe-router-padding-for-fp8! moe-router-padding-for-quantization! moe-router-pre-softmax! moe-router-quantile-balancing-ema
moe-router-score-function moe-router-topk moe-router-topk-limited-devices moe-router-topk-scaling-factor
moe-routing-trace-capture-hidden-states! moe-routing-trace-capture-logits! moe-routing-trace-dump-weights!
moe-routing-trace-max-inference-steps moe-routing-trace-max-training-iters moe-routing-trace-path moe-shared-expert-gate!
moe-shared-expert-glu-interleave-size moe-shared-expert-intermediate-size moe-shared-expert-overlap! moe-single-grouped-bias!
moe-single-grouped-weight! moe-token-dispatcher-type moe-token-drop-policy moe-token-dropping! moe-upcycling-granularity
moe-use-grouped-tensor! moe-use-legacy-grouped-gemm! moe-use-upcycling! moe-z-loss-coeff mtp-detach-heads! mtp-grad-scale-func mtp-hsm!
mtp-hybrid-override-pattern mtp-loss-scaling-factor mtp-num-layers mtp-standalone! mtp-use-repeated-layer! multi-latent-attention!
muon-scalar-optimizer mup-attn-scale-power mup-base-head-dim mup-base-hidden-size mup-embedding-mult
no-account-for-embedding-in-pipeline-split! no-account-for-loss-in-pipeline-split! no-activation-func-fp8-input-store!
no-apply-query-key-layer-scaling! no-apply-residual-connection-post-layernorm! no-apply-wd-to-qk-layernorm!
no-async-tensor-model-parallel-allreduce! no-attention-output-gate! no-attention-softmax-in-fp32! no-attn-skip! no-batch-invariant-mode!
no-batch-p2p-comm! no-batch-p2p-sync! no-bf16! no-bias-activation-fusion! no-bias-swiglu-fusion! no-cache-mla-latents!
no-ckpt-fully-parallel-load-per-rank-objects! no-ckpt-fully-parallel-save! no-ckpt-load-validate-sharding-integrity!
no-ckpt-pg-tensors-cache-create! no-clone-scatter-output-in-embedding! no-cpu-offloading! no-cpu-offloading-activations!
no-cpu-offloading-double-buffering! no-cpu-offloading-retain-pinned-cpu-buffers! no-cpu-offloading-weights!
no-create-attention-mask-in-dataloader! no-data-parallel-random-init! no-data-sharding! no-deallocate-pipeline-outputs!
no-decrease-batch-size-if-needed! no-defer-embedding-wgrad-compute! no-delay-offload-until-cuda-graph!
no-disable-bf16-reduced-precision-matmul! no-dist-ckpt-optim-fully-reshardable! no-distrib-optim-fully-reshardable-mem-efficient!
no-distribute-saved-activations! no-dsa-indexer-rotate-activation! no-enable-chunked-prefill! no-ep-overlap-early-attn-memory-release!
no-fine-grained-activation-offloading! no-first-last-layers-bf16! no-fp16! no-fp4-param! no-fp4-param-gather!
no-fp8-dot-product-attention! no-fp8-multi-head-attention! no-fp8-output-proj! no-fp8-param! no-fp8-param-gather! no-fp8-wgrad!
no-fsdp-all-gather-in-start-param-sync! no-fsdp-db-use-persist-buf-on-alloc-fail! no-fsdp-double-buffer! no-fsdp-manual-registration!
no-fully-parallel-load! no-fully-parallel-save! no-hybrid-context-parallel! no-inference-dynamic-batching!
no-inference-dynamic-batching-enable-prefix-caching! no-inference-dynamic-batching-track-generated-token-events!
no-inference-dynamic-batching-track-paused-request-events! no-inference-moe-disable-fused-quant-kernels! no-is-first-stage!
no-is-last-stage! no-keep-fp8-transpose-cache! no-keep-fp8-transpose-cache-when-using-custom-fsdp! no-layernorm-zero-centered-gamma!
no-log-device-memory-used! no-log-l2-norm-grad-to-tensorboard! no-log-learnig-rate-to-tensorboard! no-log-loss-scale-to-tensorboard!
no-log-max-attention-logit! no-log-memory-to-tensorboard! no-log-num-zeros-in-grad! no-log-runtime-to-tensorboard!
no-log-throughput-to-tensorboard! no-log-timers-to-tensorboard! no-log-validation-ppl-to-tensorboard! no-log-world-size-to-tensorboard!
no-megatron-fsdp-cuda-graph-mode! no-megatron-fsdp-enable-fine-grained-param-gather! no-megatron-fsdp-max-pool-double-buffer!
no-megatron-fsdp-use-decoupled-grad! no-memory-efficient-layer-norm! no-moe-apply-probs-on-input! no-moe-enable-deepep!
no-moe-enable-routing-replay! no-moe-extended-tp! no-moe-grouped-gemm! no-moe-hybridep-pad-uneven-dispatch-inputs!
no-moe-layer-recompute! no-moe-ncclep-zero-copy! no-moe-pad-expert-input-to-capacity! no-moe-pad-experts-for-cuda-graph-inference!
no-moe-paged-stash! no-moe-per-layer-logging! no-moe-permute-fusion! no-moe-permute-fusion-into-hybridep!
no-moe-router-enable-expert-bias! no-moe-router-force-load-balancing! no-moe-router-fusion! no-moe-router-padding-for-fp8!
no-moe-router-padding-for-quantization! no-moe-router-pre-softmax! no-moe-routing-trace-capture-hidden-states!
no-moe-routing-trace-capture-logits! no-moe-routing-trace-dump-weights! no-moe-shared-expert-gate! no-moe-shared-expert-overlap!
no-moe-single-grouped-bias! no-moe-single-grouped-weight! no-moe-token-dropping! no-moe-use-grouped-tensor!
no-moe-use-legacy-grouped-gemm! no-mtp-detach-heads! no-mtp-hsm! no-mtp-standalone! no-mtp-use-repeated-layer!
no-multi-latent-attention! no-optimizer-cpu-offload! no-optimizer-cuda-graph! no-output-bert-embeddings!
no-overlap-cpu-optimizer-d2h-h2d! no-overlap-dispatch-backward-with-experts-wgrad! no-overlap-moe-expert-parallel-comm!
no-overlap-param-gather-with-optimizer-step! no-override-opt-param-scheduler! no-pad-vocab-size! no-persist-layer-norm!
no-position-embedding! no-qk-layernorm! no-query-key-layer-scaling! no-record-memory-history! no-retro-index-delete-training-embeddings!
no-reuse-grad-buf-for-mxfp8-param-ag! no-scatter-gather-tensors-in-pipeline! no-sequence-parallel! no-static-kv-memory-pointers!
no-strict-fsdp-dtensor-load! no-use-checkpoint-opt-param-scheduler! no-use-custom-fsdp! no-use-distributed-optimizer!
no-use-embedding-sharing! no-use-grouped-gemm-for-dense-mlp! no-use-grouped-gemm-for-shared-expert! no-use-inference-optimized-layers!
no-use-kitchen-attention! no-use-layer-wise-distributed-optimizer! no-use-layer-wise-param-layout! no-use-mamba-mem-eff-path!
no-use-megatron-fsdp! no-use-parallel-embedding! no-use-precision-aware-optimizer! no-use-te-activation-func! no-use-torch-fsdp2!
no-use-torch-optimizer-for-cpu-offload! no-variable-seq-lengths! num-attention-heads num-distributed-optimizer-instances num-experts
num-gpt-layers num-img-embeddings-per-tile num-layers num-layers-at-end-in-bf16 num-layers-at-start-in-bf16
num-layers-in-first-pipeline-stage num-layers-in-last-pipeline-stage num-layers-per-pp-rank* num-layers-per-virtual-pipeline-stage
num-microbatches-with-partial-activation-checkpoints num-moe-experts num-virtual-stages-per-pipeline-rank offload-modules* optimizer
optimizer-cpu-offload! optimizer-cuda-graph! optimizer-offload-fraction original-max-position-embeddings out-seq-length
outer-dp-sharding-strategy output-bert-embeddings! output-layer-init-method output-logit-dtype output-pipeline-parallel
overlap-cpu-optimizer-d2h-h2d! overlap-dispatch-backward-with-experts-wgrad! overlap-moe-expert-parallel-comm!
overlap-param-gather-with-optimizer-step! override-opt-param-scheduler! packing-seq-length pad-vocab-size! padded-vocab-size
params-dtype per-dataset-sequences-path persist-layer-norm! pipeline-dtype pipeline-model-parallel-comm-backend
pipeline-model-parallel-layout pipeline-model-parallel-size pipeline-model-parallel-split-rank position-embedding-type
prefill-chunk-size prefix-caching-mamba-gb q-lora-rank qk-head-dim qk-layernorm! qk-pos-emb-head-dim rampup-batch-size* recompute!
recompute-activations! recompute-granularity recompute-granularity-vision recompute-method recompute-method-vision recompute-modules*
recompute-num-layers recompute-sound! recompute-sound-projection! recompute-vision! recompute-vision-num-layers
recompute-vision-projection! record-memory-history! relative-attention-max-distance relative-attention-num-buckets reset-attention-mask!
reshard-after-forward retriever-seq-length retro-attention-gate retro-bert-batch-size retro-bert-embedders retro-bert-max-chunk-length
retro-bert-vocab-file retro-chunk-length retro-encoder-attention-dropout retro-encoder-hidden-dropout retro-encoder-layers
retro-encoder-num-layers retro-gpt-chunk-datasets retro-gpt-chunk-length retro-gpt-global-batch-size retro-gpt-seq-length
retro-gpt-vocab-file retro-index-delete-training-embeddings! retro-nchunks-sampled retro-no-delete-index-training-embeddings!
retro-num-retrieved-chunks reuse-grad-buf-for-mxfp8-param-ag! rl-inference-expert-model-parallel-size
rl-inference-expert-tensor-model-parallel-size rl-inference-model-unified-memory-level rl-inference-pipeline-model-parallel-size
rl-inference-tensor-model-parallel-size rl-offload-inference-model-weights-when-idle rl-offload-optimizer-during-inference!
rl-sequence-packing-algo rl-sequence-packing-max-sequences-per-bin rl-use-sequence-packing rl-verify-model-weights-swap
rotary-seq-len-interpolation-factor save-activations-interval save-tokens-per-expert-interval scheduler separate-video-embedder!
seq-length sequence-length sequence-parallel! short-seq-prob skip-num-attn-layer-constraint skip-total-layer-constraint slice!
sound-batch-split sound-embedding-size ssm-chunk-alignment ssm-states-dtype standalone-embedding-stage! static-kv-memory-pointers!
step-batch-size-schedule strict-fsdp-dtensor-load! swiglu! sync-expert-weight-amax! target-expert-parallel-size
target-pipeline-parallel-size target-tensor-parallel-size te-precision-config-file tensor-model-parallel-size tensor-parallel
tensor-parallel-num-weight-shards tensor-parallel-size tensorboard-dir tensorboard-log-interval tensorboard-queue-size
tensorrt-llm-checkpoint-dir torch-fsdp2-no-reshard-after-forward! total-seq-length true-vocab-size unified-memory-level
untie-embeddings-and-output-weights! use-checkpoint-opt-param-scheduler! use-custom-fsdp! use-distributed-optimizer!
use-embedding-sharing! use-flash-attn! use-grouped-gemm-for-dense-mlp! use-grouped-gemm-for-shared-expert!
use-inference-optimized-layers! use-kitchen-attention! use-layer-wise-distributed-optimizer! use-mamba-mem-eff-path! use-megatron-fsdp!
use-packed-sequence! use-parallel-embedding! use-precision-aware-optimizer! use-rotary-position-embeddings! use-te-activation-func!
use-te-layernorm-linear! use-torch-fsdp2! use-torch-optimizer-for-cpu-offload! use-vision-backbone-fp8-arch! v-head-dim
variable-seq-lengths! virtual-pipeline-model-parallel-size vit-dummy-head-count vocab-extra-ids vocab-file vocab-size
window-attn-skip-freq* yarn-original-max-position-embeddings`,
  'MindSpeed-LLM': `
adaptive-cp-dynamic-attn-mask! adaptive-cp-only-reschedule! adaptive-memory-optimization! adaptive-recompute-device-size
adaptive-recompute-device-swap! adaptive-recompute-profiling-step add-output-layer-bias! aiqos-schedule alibi-fusion-attn-type
ampipe-degree ampipe-tp-sp-comm-overlap! attention-mask-on-cpu! attention-mask-type attn-logit-softcapping automated-pipeline!
automated-pipeline-perf! balanced-moe-experts! balanced-moe-hot-expert-num coc-parallel-num compress-activation compress-optimizer!
context-parallel-algo context-parallel-cache-interval context-parallel-kv-cache-policy cp-attention-mask-type cut-max-seqlen!
distributed-optimizer-no-replica! dualpipev-dw-detach! embedding-multiplier-scale enable-expert-placement!
enable-fine-grained-expert-placement! enable-mla-scale-kv-lora! enable-mla-scale-q-lora! enable-recompute-layers-per-pp-rank!
enable-seq1f1b! enable-share-memory! enable-zero3! evaluation-batch-size expert-interval expert-placement-freq
fine-grained-expert-placement-thre fix-sub-seq-length fp8-reuse-quantized-weight! fsdp2-config-path full-attention-interval
hccl-slice-size index-head-dim index-n-heads index-share-for-mtp-iteration! input-embeds-norm! input-layernorm-in-fp32!
kv-head-repeat-before-uly-alltoall! layerwise-disaggregated-training! layerzero! layerzero-config lora-alpha lora-ckpt-filter!
lora-fusion! lora-load lora-modules-to-save* lora-r lora-register-forward-hook* lora-target-modules* loss-chunk-size
lu-lora-final-layer-index lu-lora-lr lu-lora-lr-ratio mamba-d-conv mamba-d-ssm mamba-expand merge-cloud-stages merge-stages
middle-stages mla-swap-core-attn-out! mla-zero-memory! moba-chunk-size moe-adaptive-recompute-activation!
moe-adaptive-recompute-activation-scale moe-allgather-overlap-comm! moe-alltoall-mc2! moe-alltoall-overlap-comm! moe-bmm-mc2!
moe-comm-aux-loss-coeff moe-device-level-aux-loss-coeff moe-dynamic-padding! moe-fb-overlap! moe-intermediate-size moe-model-type
moe-no-drop! moe-permutation-async-comm! moe-revert-type-after-topk! moe-tp-extend-ep! moe-train-capacity-factor
moe-unperm2-mem-optim-swap! moe-use-sinkhorn! moe-zero-memory moe-zero-memory-num-layers mtp-mem-efficient-logits! mtp-spec*
multi-head-latent-attention! n-hash-layers n-shared-experts no-pad-to-seq-lengths! no-post-layer-norm! no-use-gmm-fp8! noop-layers
num-cloud-vpp-chunks num-layer-list num-zero-experts o-lora-rank o2-optimizer! optimizer-selection original-seq-len
output-layer-slice-num pad-vocab-size-to pipe-experts-multi-data pipe-experts-multi-stream! pipeline-num-transformer-layers
pp-schedule-list print-expert-load! profile-with-memory! qk-nope-head-dim qk-rope-head-dim query-pre-attn-scalar
recompute-activation-function! recompute-activation-function-num-layers recompute-in-advance! recompute-in-bubble!
recompute-mla-up-proj! recompute-module-list recompute-norm! recompute-norm-num-layers recompute-type
rope-scaling-original-max-position-embeddings save-layer-by-layer! save-lora-to-hf! save-memory-ratio schedules-method seq-aux!
seq1f1b-balance-method seq1f1b-splits shard-size shared-expert-gate! shared-expert-gate-output-dimension smart-swap!
source-expert-parallel-size source-pipeline-parallel-size source-tensor-parallel-size stage swap-attention! swap-layer-input!
swap-modules swap-optimizer! swap-optimizer-times swiglu-limit te-comparison-with-bf16! trans-hot-expert-group-num ttp-save-optimizer!
use-fused-moe-token-permute-and-unpermute! use-fused-ring-attention-update! use-fused-sparse-flash-attention! use-fused-swiglu!
use-fusion-attn-v2! use-moba-attn! use-multiparameter-pipeline-model-parallel! use-nanopipe! use-nanopipe-swap! use-pipe-experts!
use-sparse-flash-attn! use-triton-swiglu-limit! virtual-optimizer*`,
  'Pai-Megatron-Patch': `
adaptive-seq-len! attention-head-type disable-bias-attn-fc! disable-parallel-output! embed-layernorm! enable-shared-expert!
extra-num-vocabs extra-vocab-size glu-activation input-fp8-hf-path max-shard-size mm-vision-select-layer moe! moe-eval-capacity-factor
moe-expert-parallel-size moe-input-feature-slicing! moe-loss-coeff moe-min-capacity moe-topk n-head-kv no-rotary-embed-copy!
num-expert-split-size num-shared-experts optimizer-offload-auto-threshold optimizer-offload-chunk-size optimizer-offload-policy
output-bf16-hf-path save-safetensors! sequence-packing! shared-moe-ffn-hidden-size source-seq-len target-data-parallel-size
target-decoder-first-pipeline-num-layers target-decoder-last-pipeline-num-layers target-expert-model-parallel-size
target-expert-tensor-parallel-size target-num-layers-per-virtual-pipeline-stage target-params-dtype target-pipeline-model-parallel-size
target-seq-len target-tensor-model-parallel-size tune-mm-mlp-adapter! use-llama2-rotary-position-embeddings!
use-mistral-rotary-position-embeddings! use-normhead!`,
  'zero-bubble': `
allow-padding-num-layers! auto-offload-time! cpu-offload! enable-optimizer-post-validation! enable-zero-bubble!
measure-activation-memory! num-layers-without-padding num-seq-splits offload-chunk-num offload-continuous-buffers! offload-overlap-sr!
offload-time plot-microbatch! profile-memory-iter recompute-lgd! zero-bubble-adaptive-memory-limit-percentile
zero-bubble-max-pending-backward zero-bubble-pipeline-timers-end-iter zero-bubble-pipeline-timers-start-iter zero-bubble-v-schedule!
zero-bubble-v-schedule-mem-setup`,
  Seq1F1B: `
embedding-weights-in-fp32! pipe-sp-splits pipe-sp-strategy retro-index-no-delete-training-embeddings!`,
  BigScience: `
checkpoint-num-layers cpu-optimizer! deepspeed-activation-checkpointing! distribute-checkpointed-activations!
memory-centric-tiled-linear! override-lr-scheduler! partition-activations! scattered-embeddings! synchronize-each-layer!
use-bnb-optimizer! use-checkpoint-lr-scheduler! use-pin-memory! zero-allgather-bucket-size zero-contigious-gradients!
zero-reduce-bucket-size zero-reduce-scatter! zero-stage`,
  'Megatron-DeepSpeed': `
create-moe-param-group! disable-moe-token-dropping! disable-moe-top2-2nd-expert-sampling! ds-sequence-parallel-fpdt!
ds-sequence-parallel-fpdt-chunk-size ds-sequence-parallel-fpdt-offloading! ds-sequence-parallel-size enable-expert-tensor-parallelism!
enable-zbh1-pipeline! force-ds-sequence-parallel! hf-ckpt-num-shards hidden-size-teacher log-optimizer-states-to-tensorboard!
no-pipeline-parallel! num-attention-heads-teacher num-experts-switch num-experts-teacher* num-key-value-heads num-layers-teacher
rotary-position-embeddings-theta use-flash-attn-builder! use-flash-attn-triton! use-flash-attn-v1! use-flash-attn-v2!`,
  MegaBlocks: `
glu! moe-capacity-factor moe-expert-model-parallelism! moe-jitter-eps moe-lbl-in-fp32 moe-loss-weight moe-num-experts moe-top-k
moe-use-megatron-switch`,
  DeepSpeed: `
io-parallel lr-schedule sequential-requests!`,
};

/** How many words a flag of any program takes, by its name without dashes in front. */
export const flagNames: ReadonlyMap<string, 'none' | 'one' | 'many'> = new Map(
  Object.values(tables).flatMap((table) => table.trim().split(/\s+/).map(entry)),
);

function entry(written: string): [string, 'none' | 'one' | 'many'] {
  const name = written.replace(/[!*]$/, '');
  return [name, written.endsWith('!') ? 'none' : written.endsWith('*') ? 'many' : 'one'];
}
