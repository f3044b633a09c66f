//! Settings that change neither the size nor the time nor the memory of a step, by tool, each with the reason.
//!
//! Read in the documentation of Accelerate 1.15, transformers 4.57 and 5.24, DeepSpeed 0.19, Megatron-LM core 0.16,
//! torchtitan 0.2. A name that is neither here nor in a tool's own table is unknown.

use super::table::Harmless;

const STARTS: &str = "how processes start is no part of a step";
const LEARNS: &str = "how the model learns changes no size";
const DATA: &str = "where data come from is no part of a step";
const SAVES: &str = "checkpoints are no part of a step";
const LOGS: &str = "logs are no part of a step";
const EVALUATES: &str = "evaluation is no part of a step";
const LOADS: &str = "loading is no part of a step";
const SCALES: &str = "how numbers are scaled is no part of a step";
const PROFILES: &str = "profiles are no part of a step";

/// Flags of `torchrun`, `accelerate launch`, `deepspeed` and `srun`, which stand in one line with the program's.
#[rustfmt::skip]
pub(super) const LAUNCHER: Harmless = &[
    (
        STARTS,
        &[
            "master_addr", "master_port", "node_rank", "machine_rank", "main_process_ip", "main_process_port", "rdzv_*",
            "same_network", "role", "max_restarts", "monitor_interval", "start_method", "module", "no_python", "run_path",
            "redirects", "tee", "local_addr", "log_dir", "local_ranks_filter", "logs_specs", "num_cpu_threads_per_process",
            "enable_cpu_affinity", "gpu_ids", "multi_gpu", "main_training_function", "mpirun_*", "numa_binding",
            "standalone", "local_rank", "hostfile", "launcher", "launcher_args", "no_local_rank", "no_ssh*", "ssh_port",
            "bind_cores_to_rank", "bind_core_list", "force_multi", "venv_script", "enable_each_rank_log", "save_pid",
            "kill_on_bad_exit", "cpu_bind", "mpi", "label", "unbuffered", "export", "container_*", "no_container_*",
            "chdir", "wait", "mem", "exclusive", "cpus_per_task", "gpu_bind", "distribution", "het_group", "account",
            "partition", "time", "job_name", "use_env",
        ],
    ),
    (LOGS, &["output", "error", "quiet"]),
];

#[rustfmt::skip]
pub(super) const ACCELERATE: Harmless = &[
    (
        STARTS,
        &[
            "machine_rank", "main_process_ip", "main_process_port", "main_training_function", "rdzv_*", "same_network",
            "gpu_ids", "enable_cpu_affinity", "num_cpu_threads_per_process", "mpirun_config*", "deepspeed_hostfile",
            "deepspeed_inclusion_filter", "deepspeed_exclusion_filter", "command_file", "commands",
        ],
    ),
    ("it is of machines without GPUs", &["tpu_*", "ipex_config*", "downcast_bf16"]),
    (LOGS, &["debug"]),
];

/// Settings inside Accelerate's `megatron_lm_config`.
#[rustfmt::skip]
pub(super) const ACCELERATE_MEGATRON: Harmless = &[
    (SAVES, &["megatron_lm_no_load_optim", "megatron_lm_no_save_optim"]),
    (LEARNS, &["megatron_lm_calculate_per_token_loss", "megatron_lm_eod_mask_loss"]),
];

#[rustfmt::skip]
pub(super) const TORCHTUNE: Harmless = &[
    (LEARNS, &["lr_scheduler*", "seed", "shuffle", "clip_grad_norm", "max_steps_per_epoch", "cudnn_deterministic_mode"]),
    (DATA, &["dataset*", "tokenizer*", "collate_fn", "download_dir"]),
    (
        SAVES,
        &["output_dir", "resume_from_checkpoint", "save_*", "enable_async_checkpointing", "keep_last_n_checkpoints"],
    ),
    (LOADS, &["checkpointer*", "base_model*", "low_cpu_ram"]),
    (LOGS, &["metric_logger*", "log_*"]),
    (EVALUATES, &["run_val_every_n_steps", "batch_size_val"]),
    (PROFILES, &["profiler*"]),
    (STARTS, &["device"]),
];

#[rustfmt::skip]
pub(super) const TRAINER: Harmless = &[
    (
        LEARNS,
        &[
            "learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "lr_scheduler*",
            "warmup_*", "num_warmup_steps", "num_train_epochs", "max_steps", "label_smoothing_factor", "neftune_noise_alpha", "seed",
            "data_seed", "average_tokens_across_devices", "min_lr", "min_lr_ratio", "cosine_min_lr_ratio", "optim_args", "loss_watchdog_*",
        ],
    ),
    (
        DATA,
        &[
            "data_path", "data_dir", "data_split", "data_output_path", "dataset", "dataset_*", "datasets*", "val_set_size", "special_tokens*", "eot_tokens*", "train_file", "validation_file", "train_data*", "train_on_*",
            "validation_split_percentage", "dataloader_*", "remove_unused_columns", "label_names",
            "length_column_name", "ignore_data_skip", "preprocessing_num_workers", "overwrite_cache", "streaming",
            "template", "chat_template*", "max_train_samples", "max_samples", "tokenized_path", "lazy_preprocess",
            "accelerator_config.*", "assistant_only_loss", "completion_only_loss", "trust_remote_code", "eos_token", "pad_token",
            "enable_thinking", "default_system", "system", "tool_format", "train_on_prompt", "train_on_source", "chat_template_format", "add_special_tokens", "append_concat_token", "splits", "mask_history", "buffer_size",
            "preprocessing_batch_size", "media_dir", "model_author", "model_name", "truncation_*", "shuffle_dataset", "shuffle_merged_datasets", "add_version", "mix_strategy", "interleave_probs",
        ],
    ),
    (
        SAVES,
        &[
            "output_dir", "overwrite_output_dir", "save_*", "saves_per_epoch", "load_best_model_at_end", "metric_for_best_model",
            "greater_is_better", "resume_from_checkpoint", "restore_callback_states_from_checkpoint",
            "enable_jit_checkpoint", "push_to_hub*", "hub_*",
        ],
    ),
    (
        LOGS,
        &[
            "log_level*", "log_on_each_node", "logging_*", "report_to", "run_name", "project", "trackio_*", "disable_tqdm",
            "include_tokens_per_second", "include_num_input_tokens_seen", "skip_memory_metrics", "plot_loss", "wandb_*", "swanlab_*", "use_swanlab",
            "with_tracking", "include_effective_tokens_per_second", "print_loss", "debug", "ray_scope", "verbose",
        ],
    ),
    (
        EVALUATES,
        &[
            "do_train", "do_eval", "do_predict", "eval_*", "evals_per_epoch", "early_stopping_patience", "evaluation_strategy", "per_device_eval_batch_size",
            "per_gpu_eval_batch_size", "prediction_loss_only", "include_inputs_for_metrics", "include_for_metrics",
            "batch_eval_metrics", "bf16_full_eval", "fp16_full_eval", "jit_mode_eval", "max_eval_samples", "val_size",
            "predict_with_generate", "max_new_tokens", "do_mmlu_eval", "mmlu_*", "use_legacy_prediction_loop", "past_index",
        ],
    ),
    (
        LOADS,
        &[
            "tokenizer_name", "tokenizer_name_or_path", "tokenizer_type", "config_name", "model_revision", "cache_dir", "use_fast_tokenizer",
            "use_slow_tokenizer", "use_hf", "use_auth", "use_fast", "low_cpu_mem_usage", "token", "use_auth_token", "hf_hub_token", "model_type", "resize_vocab",
        ],
    ),
    (SCALES, &["half_precision_backend", "fp16_backend", "fp16_opt_level"]),
    (
        "ranks are told of one another before the first step",
        &["ddp_backend", "ddp_timeout", "local_rank", "ddp_broadcast_buffers", "_n_gpu"],
    ),
    (
        "gradients are reduced layer by layer either way",
        &["ddp_bucket_cap_mb", "ddp_find_unused_parameters", "ddp_static_graph"],
    ),
];

#[rustfmt::skip]
pub(super) const DEEPSPEED: Harmless = &[
    (
        LEARNS,
        &[
            "scheduler*", "optimizer.params*", "optimizer.legacy_fusion", "prescale_gradients",
            "gradient_predivide_factor", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
        ],
    ),
    (
        LOGS,
        &[
            "steps_per_print", "wall_clock_breakdown", "dump_state", "log_level", "memory_breakdown", "tensorboard*",
            "wandb*", "comet*", "csv_monitor*", "monitor_config*", "activation_checkpointing.profile",
            "zero_optimization.log_trace_cache_warnings",
        ],
    ),
    (PROFILES, &["flops_profiler*", "comms_logger*", "autotuning*"]),
    (
        SAVES,
        &[
            "checkpoint*", "zero_optimization.elastic_checkpoint", "zero_optimization.load_from_fp32_weights",
            "zero_optimization.stage3_gather_16bit_weights_on_model_save",
            "zero_optimization.stage3_gather_fp16_weights_on_model_save",
            "zero_optimization.gather_16bit_weights_on_model_save",
            "zero_optimization.pipeline_loading_checkpoint",
        ],
    ),
    (DATA, &["dataloader_drop_last"]),
    (
        "it is read where files have no such value, or not at all",
        &["zero_optimization.ignore_unused_parameters", "zero_optimization.legacy_stage1", "disable_python_gc"],
    ),
    // Keys that `export` writes on top, since JSON has no comments.
    ("a comment", &["for", "from", "notes", "elsewhere", "_comment*", "comment*"]),
];

#[rustfmt::skip]
pub(super) const MEGATRON: Harmless = &[
    (
        LEARNS,
        &[
            "lr", "lr_*", "min_lr", "warmup", "weight_decay*", "start_weight_decay", "end_weight_decay", "adam_*",
            "sgd_momentum", "seed", "init_method*", "override_opt_param_scheduler", "decoupled_*", "muon_*",
            "use_checkpoint_opt_param_scheduler", "override_lr_scheduler", "use_checkpoint_lr_scheduler",
            "data_parallel_random_init", "perform_initialization", "no_initialization", "embedding_init_method_std",
            "head_lr_mult", "train_iters", "train_samples", "train_tokens", "skip_train", "calculate_per_token_loss",
            "apply_query_key_layer_scaling", "iterations_to_skip", "universal_checkpoint",
        ],
    ),
    (
        DATA,
        &[
            "data_path*", "data_args_path", "data_cache_path", "per_split_data_args_path", "train_data_path",
            "valid_data_path", "test_data_path", "split", "mock_data", "vocab_file", "merge_file", "vocab_extra_ids",
            "tokenizer_*", "num_workers", "data_impl", "mmap_warmup", "dataloader_type", "reset_position_ids",
            "reset_attention_mask", "eod_mask_loss", "no_create_attention_mask_in_dataloader",
            "create_attention_mask_in_dataloader", "num_dataset_builder_threads", "legacy_tokenizer", "tiktoken_*",
            "null_tokenizer*", "full_validation", "multiple_validation_sets", "data_sharding", "no_data_sharding",
            "train_weighted_split_paths*", "valid_weighted_split_*", "reweight_loss_based_on_position_frequency",
            "s3_cache_path", "mid_level_dataset_surplus", "dataloader_*", "defer_npy_index_mmap", "object_storage_*",
        ],
    ),
    (
        SAVES,
        &[
            "save*", "load*", "no_save_*", "no_load_*", "finetune", "pretrained_checkpoint", "ckpt_*", "dist_ckpt_*",
            "use_dist_ckpt*", "use_checkpoint_args", "auto_detect_ckpt_format", "async_save", "async_ckpt_*",
            "use_persistent_ckpt_worker", "exit_on_missing_checkpoint", "non_persistent_*", "retro_*",
            "use_mp_args_from_checkpoint_args", "use_tokenizer_model_from_checkpoint_args", "replication*",
            "verify_integrity", "iteration", "consumed_*", "strict_fsdp_dtensor_load",
        ],
    ),
    (
        LOGS,
        &[
            "log_*", "no_log_*", "logging_level", "tensorboard_*", "wandb_*", "timing_log_*", "codecarbon_dir",
            "barrier_with_L1_time", "no_barrier_with_level_1_timing", "exit_*", "one_logger_*", "enable_one_logger",
            "app_tag_run_*", "enable_experimental", "kill_switch_path", "abort_on_unmet_fused_kernel_constraints",
            "log_interval", "print_*", "memory_snapshot_path", "record_memory_history", "enable_msc", "disable_msc",
            "check_weight_hash_across_dp_replicas_interval", "check_for_*", "no_check_for_nan_in_loss_and_grad",
            "run_workload_inspector_server", "rerun_mode", "error_injection_*", "deprecated_*",
        ],
    ),
    (PROFILES, &["profile*", "use_pytorch_profiler", "pytorch_profiler_*", "nvtx_ranges", "pipeline_profile*"]),
    (EVALUATES, &["eval_*", "test_mode", "inference_*", "max_tokens_to_oom"]),
    (
        STARTS,
        &[
            "distributed_backend", "distributed_timeout_*", "local_rank", "rank", "lazy_mpu_init", "nccl_ub_*",
            "nccl_communicator_config_path", "high_priority_stream_groups", "use_ring_exchange_p2p", "enable_ft_package",
            "use_cpu_initialization", "enable_gloo_process_groups", "disable_gloo_process_groups", "adlr_autoresume*",
            "straggler_*", "disable_straggler_on_startup", "manual_gc*", "gloo_*", "inprocess_*", "use_sharp",
            "sharp_enabled_group", "ft_*", "calc_ft_timeouts", "remote_device", "use_tp_pp_dp_mapping",
            "transformer_pipeline_model_parallel_size", "te_rng_tracker", "inference_rng_tracker", "yaml_cfg",
            "microbatch_group_size_per_vp_stage",
        ],
    ),
    (
        SCALES,
        &[
            "loss_scale", "loss_scale_window", "initial_loss_scale", "initial_scale_power", "min_loss_scale", "hysteresis",
            "fp8_amax_*", "fp8_margin", "fp8_interval", "fp8_wgrad", "no_fp8_wgrad",
        ],
    ),
    (
        "positions are computed in a small part of a step",
        &["rotary_*", "use_rotary_position_embeddings", "use_rope_scaling", "rope_*", "no_rope_fusion", "no_rope_freq"],
    ),
    ("a constant without parameters", &["norm_epsilon", "layernorm_epsilon"]),
    (
        "dropout has no parameters; the stack says whether it is trained with it",
        &["attention_dropout", "hidden_dropout", "clone_scatter_output_in_embedding", "dropout_*"],
    ),
    (
        "it is of another kind of model",
        &[
            "bert_*", "biencoder_*", "ict_*", "retriever_*", "block_data_path", "embedding_path", "indexer_*", "titles_*",
            "evidence_data_path", "classes_fraction", "data_per_class_fraction", "num_channels", "num_classes", "patch_dim",
            "img_*", "dino_*", "iter_per_epoch", "mask_*", "swin_*", "vision_*", "short_seq_prob", "sample_rate",
            "query_in_block_prob", "use_one_sent_docs", "decoder_num_layers", "decoder_seq_length", "encoder_*",
            "openai_gelu", "onnx_safe", "head_lr_mult", "inverse_square_root", "mamba_*", "hybrid_mlp_ratio",
        ],
    ),
];

#[rustfmt::skip]
pub(super) const TORCHTITAN: Harmless = &[
    (LOGS, &["job.*", "metrics.*", "debug.seed", "debug.enable_structured_logging"]),
    (PROFILES, &["profiling.*", "profiler.*", "memory_estimation.*"]),
    (SAVES, &["checkpoint.*"]),
    (EVALUATES, &["validation.*", "validator.*"]),
    (
        LEARNS,
        &[
            "lr_scheduler.*", "optimizer.lr", "optimizer.eps", "optimizer.beta1", "optimizer.beta2", "optimizer.weight_decay",
            "optimizer.implementation", "optimizer.fused", "training.max_norm", "training.steps", "training.warmup_steps",
            "training.seed", "loss.*",
        ],
    ),
    (
        DATA,
        &[
            "training.dataset", "training.dataset_path", "training.dataloader*", "dataloader.*", "tokenizer.*",
            "model.tokenizer_path", "model.hf_assets_path", "model.norm_type",
        ],
    ),
    (STARTS, &["comm.*", "training.gc_freq", "training.gc_debug", "experimental.custom_*", "hf_assets_path"]),
    (
        "how layers are computed again changes no size",
        &[
            "activation_checkpoint.early_stop", "activation_checkpoint.preserve_rng_state",
            "activation_checkpoint.determinism_check", "activation_checkpoint.debug",
            "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns",
            "activation_checkpoint.visualize_memory_budget_pareto",
        ],
    ),
    (SCALES, &["float8.precompute_float8_dynamic_scale_for_fsdp", "float8.scaling_*", "float8.filter_fqns"]),
];
