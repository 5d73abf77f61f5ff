# bash completion for osora; made by `osora completion bash`.
# Names come from folders where others may have put them: they are matched as text, never expanded
# (`compgen -W` would run a "$(command)" in them), and quoted where they go into the line.
_osora_offer() {
    local word=
    COMPREPLY=()
    for word in "$@"; do
        [[ $word == "$current"* ]] || continue
        printf -v word '%q' "$word"
        COMPREPLY+=("$word")
    done
}
_osora_words() {
    local -a words=()
    read -ra words <<<"$1"
    _osora_offer "${words[@]}"
}
_osora_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
}
_osora_run_files() {
    mapfile -t COMPREPLY < <(
        compgen -f -X '!*.toml' -- "$current"
        compgen -d -- "$current"
    )
    compopt -o filenames 2>/dev/null
}
_osora_folders() {
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
    compopt -o filenames 2>/dev/null
}
_osora_runs() {
    local -a names=()
    mapfile -t names < <("${COMP_WORDS[0]}" completion runs 2>/dev/null)
    _osora_offer "${names[@]}"
}
_osora_keys() {
    _osora_words "run.name= run.job= resources.backend= resources.nodes= resources.gpus_per_node= resources.cpus_per_worker= resources.bind_cpus= resources.spares= resources.time_limit= slurm.partition= slurm.account= slurm.qos= slurm.constraint= slurm.reservation= slurm.container= slurm.prolog= slurm.extra= slurm.gpus= slurm.chain= ssh.hosts= ssh.hostfile= ssh.identity= ssh.known_hosts= model.arch= model.init= model.depth= model.single_depth= model.hidden= model.heads= model.mlp_ratio= model.patch_size= model.in_channels= model.text_tokens= model.caption_channels= model.pooled_channels= vae.arch= vae.weights= vae.micro_batch_size= vae.micro_frame_size= vae.tile_sample_min_size= vae_loss.real_rec= vae_loss.z_rec= vae_loss.image_identity= vae_loss.freeze_2d= vae_loss.mixed= vae_loss.mixed_image_ratio= vae_loss.kl_weight= vae_loss.perceptual_weight= vae_loss.lpips= vae_loss.logvar= vae_loss.adversarial_weight= vae_loss.adversarial_start= vqvae.n_codes= vqvae.embedding_dim= vqvae.n_hiddens= vqvae.n_res_layers= vqvae.downsample_frames= vqvae.downsample_pixels= vqvae.commitment= vqvae.decay= vqvae.dead_below= text.embeddings= text.drop_prob= text.encoder= text.clip_encoder= text.max_tokens= text.padded= encode.out= encode.dtype= encode.latents= encode.std= encode.shard_mib= score.output= score.scores= score.frames= score.deadline= score.aesthetic= score.flow= data.manifest= data.columns= data.bad_samples_max= data.latents= data.sample_latents= data.eval_manifest= data.num_workers= data.prefetch_factor= data.host_memory_gib= eval.every= eval.samples= parallel.tp_size= parallel.pp_size= parallel.virtual_stages= parallel.pp_schedule= parallel.sp_size= parallel.sp_kind= parallel.zero_stage= parallel.shard_size= parallel.grad_bucket_mib= parallel.reduce_dtype= parallel.overlap= batch.global_batch_size= batch.min= batch.max= batch.exposed_comm_target= memory.recompute= memory.activation_store= memory.allow_lossy= memory.store_rounding= memory.offload_frozen= memory.gpu_memory_gib= memory.rank_memory_gib= optim.name= optim.lr= optim.warmup_steps= optim.lr_schedule= optim.lr_min= optim.beta1= optim.beta2= optim.eps= optim.weight_decay= optim.grad_clip= optim.ema_decay= optim.precision= optim.freeze= optim.lora_rank= optim.lora_alpha= optim.lora_targets= train.steps= train.seed= train.log_every= train.deterministic= train.self_check= train.timesteps= train.timestep_shift= train.frame_masks= tune.progressive= rehearse.compute_s= rehearse.own_work= rehearse.data_wait_s= rehearse.data_wait_rank= checkpoint.every= checkpoint.keep= checkpoint.async= checkpoint.resume= worker.command= worker.env= worker.step_pattern= faults.max_restarts= faults.step_timeout= faults.collective_timeout= faults.lost_after= faults.lease= faults.stacks_limit= faults.log_mib= faults.exclude_nodes= probe.before_start= probe.max_age_h= probe.exclude= bisect.auto= bisect.budget_gpu_h= bisect.build= notify.on= notify.command= notify.webhook= notify.mail= daemon.metrics= debug.collectives= debug.frame_mask_rule= debug.bucket_schedule= debug.attention= debug.kernels= debug.memory_guard="
    compopt -o nospace 2>/dev/null
}
_osora() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command= first= word= i=
    COMPREPLY=()
    # Bash cuts --set a.b=c at the '='; the part before it is what matters.
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        [[ $word == -* ]] && break
        if [[ -z $first ]]; then
            first=$word command=$word
        else
            case "$first $word" in
            "config show" | "daemon start" | "daemon status" | "daemon stop" | "data bench" | "data check" | "data index" | "data look" | "data plan" | "data score" | "history check" | "history export" | "history import" | "history rebuild" | "history sql" | "history vacuum" | "model forward" | "model merge" | "model train-step" | "nccl advise" | "nccl compare" | "nccl env" | "nccl fit" | "nccl model" | "nccl predict" | "plan calibrate" | "plan evaluate" | "topology diff" | "topology import" | "topology show") command="$first $word" ;;
            esac
            break
        fi
    done
    if [[ -z $command ]]; then
        _osora_words "bisect cancel completion config daemon dashboard data detect diff doctor exec-steps explain history init logs model nccl nodes plan probe rehearse relaunch report resume sample status submit topology tune validate watch whatif --help --version"
        return
    fi
    case "$command:$previous" in
    "init:--from") _osora_runs; return ;;
    "submit:--set") _osora_keys; return ;;
    "submit:--from") _osora_runs; return ;;
    "submit:--after") _osora_runs; return ;;
    "submit:--backend") _osora_words "local ssh slurm"; return ;;
    "rehearse:--nodes") :; return ;;
    "rehearse:--steps") :; return ;;
    "rehearse:--set") _osora_keys; return ;;
    "rehearse:--backend") _osora_words "local ssh slurm"; return ;;
    "tune:--try") :; return ;;
    "tune:--steps") :; return ;;
    "tune:--trials") :; return ;;
    "tune:--backend") _osora_words "local ssh slurm"; return ;;
    "tune:--set") _osora_keys; return ;;
    "plan:--model") :; return ;;
    "plan:--gpus") :; return ;;
    "plan:--topology") _osora_files; return ;;
    "plan:--topology-name") :; return ;;
    "plan:--gpu") :; return ;;
    "plan:--nodes") :; return ;;
    "plan:--gpus-per-node") :; return ;;
    "plan:--nic-gbit") :; return ;;
    "plan:--hardware") _osora_files; return ;;
    "plan:--bucket") :; return ;;
    "plan:--resolution") :; return ;;
    "plan:--num-frames") :; return ;;
    "plan:--top") :; return ;;
    "plan:--calibration") _osora_files; return ;;
    "plan:--srun") _osora_files; return ;;
    "plan:--set") _osora_keys; return ;;
    "plan calibrate:--manifest") _osora_files; return ;;
    "plan calibrate:--columns") :; return ;;
    "plan evaluate:--hardware") _osora_files; return ;;
    "validate:--set") _osora_keys; return ;;
    "exec-steps:--pattern") :; return ;;
    "probe:--nodes") :; return ;;
    "probe:--backend") _osora_words "local ssh slurm"; return ;;
    "probe:--rounds") :; return ;;
    "probe:--seconds") :; return ;;
    "probe:--streams") :; return ;;
    "probe:--seed") :; return ;;
    "probe:--topology") _osora_files; return ;;
    "probe:--limit") :; return ;;
    "probe:--storage") _osora_files; return ;;
    "probe:--set") _osora_keys; return ;;
    "status:--ended") :; return ;;
    "logs:--rank") :; return ;;
    "logs:--attempt") :; return ;;
    "relaunch:--reason") :; return ;;
    "nccl fit:--samples") _osora_files; return ;;
    "nccl fit:--predict") :; return ;;
    "nccl fit:--collective") :; return ;;
    "nccl fit:--ranks") :; return ;;
    "nccl fit:--nodes") :; return ;;
    "nccl model:--graphs") _osora_files; return ;;
    "nccl model:--topo") :; return ;;
    "nccl model:--nccl-version") :; return ;;
    "nccl model:--tuner") _osora_files; return ;;
    "nccl predict:--collective") :; return ;;
    "nccl predict:--ranks") :; return ;;
    "nccl predict:--nodes") :; return ;;
    "nccl predict:--size") :; return ;;
    "nccl predict:--samples") _osora_files; return ;;
    "nccl predict:--graphs") _osora_files; return ;;
    "nccl predict:--topo") :; return ;;
    "nccl predict:--nccl-version") :; return ;;
    "nccl compare:--over") :; return ;;
    "nccl compare:--before") :; return ;;
    "nccl compare:--after") :; return ;;
    "data bench:--manifest") _osora_files; return ;;
    "data bench:--columns") :; return ;;
    "data bench:--frames") :; return ;;
    "data bench:--stride") :; return ;;
    "data bench:--start") :; return ;;
    "data bench:--size") :; return ;;
    "data bench:--workers") :; return ;;
    "data check:--manifest") _osora_files; return ;;
    "data check:--columns") :; return ;;
    "data check:--quarantine") _osora_files; return ;;
    "data check:--deadline") :; return ;;
    "data check:--workers") :; return ;;
    "data index:--manifest") _osora_files; return ;;
    "data index:--columns") :; return ;;
    "data index:--out") _osora_files; return ;;
    "data index:--index") _osora_files; return ;;
    "data index:--deadline") :; return ;;
    "data index:--workers") :; return ;;
    "data plan:--csv") _osora_files; return ;;
    "data plan:--stage") :; return ;;
    "data plan:--set") _osora_keys; return ;;
    "data look:--clips") :; return ;;
    "data look:--clip") _osora_files; return ;;
    "data look:--bucket") :; return ;;
    "data look:--out") _osora_files; return ;;
    "data look:--width") :; return ;;
    "data look:--seed") :; return ;;
    "data look:--stage") :; return ;;
    "data look:--columns") :; return ;;
    "data look:--deadline") :; return ;;
    "data look:--set") _osora_keys; return ;;
    "data score:--scores") :; return ;;
    "data score:--aesthetic") _osora_files; return ;;
    "data score:--flow") _osora_files; return ;;
    "data score:--frames") :; return ;;
    "data score:--out") _osora_files; return ;;
    "data score:--columns") :; return ;;
    "data score:--deadline") :; return ;;
    "data score:--workers") :; return ;;
    "sample:--frames") :; return ;;
    "sample:--size") :; return ;;
    "sample:--steps") :; return ;;
    "sample:--cfg-scale") :; return ;;
    "sample:--seed") :; return ;;
    "sample:--fps") :; return ;;
    "sample:--embeddings") _osora_files; return ;;
    "sample:--vae") :; return ;;
    "sample:--vae-weights") _osora_files; return ;;
    "sample:--weights") _osora_files; return ;;
    "sample:--precision") :; return ;;
    "sample:--out") _osora_files; return ;;
    "model forward:--case") _osora_files; return ;;
    "model forward:--arch") :; return ;;
    "model forward:--weights") _osora_files; return ;;
    "model forward:--inputs") _osora_files; return ;;
    "model forward:--out") _osora_files; return ;;
    "model merge:--weights") _osora_files; return ;;
    "model merge:--adapter") _osora_files; return ;;
    "model merge:--out") _osora_files; return ;;
    "model train-step:--case") _osora_files; return ;;
    "model train-step:--arch") :; return ;;
    "model train-step:--weights") _osora_files; return ;;
    "model train-step:--inputs") _osora_files; return ;;
    "model train-step:--out") _osora_files; return ;;
    "doctor:--run") _osora_runs; return ;;
    "doctor:--root") _osora_folders; return ;;
    "doctor:--probe") _osora_files; return ;;
    "nodes:--forget") :; return ;;
    "topology show:--topology") :; return ;;
    "topology import:--output") _osora_files; return ;;
    "topology import:--topology") :; return ;;
    "nccl env:--run") _osora_runs; return ;;
    "nccl env:--root") _osora_folders; return ;;
    "nccl env:--topology") _osora_files; return ;;
    "nccl env:--probe") _osora_files; return ;;
    "nccl env:--backend") _osora_words "gloo nccl"; return ;;
    "nccl env:--nccl-version") :; return ;;
    "nccl env:--tuner") _osora_files; return ;;
    "nccl env:--set") _osora_keys; return ;;
    "nccl advise:--root") _osora_folders; return ;;
    "nccl advise:--topology") _osora_files; return ;;
    "nccl advise:--probe") _osora_files; return ;;
    "nccl advise:--backend") _osora_words "gloo nccl"; return ;;
    "nccl advise:--nccl-version") :; return ;;
    "nccl advise:--tuner") _osora_files; return ;;
    "nccl advise:--set") _osora_keys; return ;;
    "report:--series") _osora_runs; return ;;
    "report:--whatif") _osora_files; return ;;
    "report:--meta") _osora_files; return ;;
    "report:--format") _osora_words "text json csv md html"; return ;;
    "report:--out") _osora_files; return ;;
    "whatif:--meta") _osora_files; return ;;
    "diff:--format") _osora_words "text json html"; return ;;
    "diff:--out") _osora_files; return ;;
    "detect:--csv") _osora_files; return ;;
    "detect:--column") :; return ;;
    "detect:--min-effect") :; return ;;
    "bisect:--scaling") _osora_runs; return ;;
    "bisect:--nodes") :; return ;;
    "bisect:--steps") :; return ;;
    "bisect:--trials") :; return ;;
    "bisect:--budget-gpu-h") :; return ;;
    "bisect:--set") :; return ;;
    "history:--limit") :; return ;;
    "history:--format") _osora_words "text json csv md"; return ;;
    "history sql:--limit") :; return ;;
    "history sql:--time-limit") :; return ;;
    "history sql:--format") _osora_words "text json csv md"; return ;;
    "history export:--to") _osora_files; return ;;
    "history export:--format") _osora_words "archive tensorboard csv"; return ;;
    "history vacuum:--keep-days") :; return ;;
    "history vacuum:--matrix-days") :; return ;;
    "history vacuum:--matrix-mib") :; return ;;
    "dashboard:--listen") :; return ;;
    "dashboard:--token-file") _osora_files; return ;;
    "config show:--set") _osora_keys; return ;;
    esac
    if [[ $current == -* ]]; then
        case "$command" in
        "init") _osora_words "--from --force --json --help" ;;
        "submit") _osora_words "--set --dry-run --detach --from --trust --after --backend --json --help" ;;
        "rehearse") _osora_words "--nodes --steps --set --backend --json --help" ;;
        "tune") _osora_words "--nccl --batch --try --real --steps --trials --backend --set --json --help" ;;
        "plan") _osora_words "--model --gpus --topology --topology-name --gpu --nodes --gpus-per-node --nic-gbit --hardware --bucket --resolution --num-frames --explain --top --calibration --srun --set --json --help" ;;
        "plan calibrate") _osora_words "--manifest --columns --json --help" ;;
        "plan evaluate") _osora_words "--hardware --json --help" ;;
        "validate") _osora_words "--set --json --help" ;;
        "exec-steps") _osora_words "--pattern --json --help" ;;
        "probe") _osora_words "--nodes --backend --all-pairs --rounds --seconds --streams --seed --topology --collectives --limit --storage --set --json --help" ;;
        "status") _osora_words "--ended --json --help" ;;
        "watch") _osora_words "--json --help" ;;
        "logs") _osora_words "--rank --attempt --follow --json --help" ;;
        "cancel") _osora_words "--now --trust --json --help" ;;
        "relaunch") _osora_words "--now --reason --trust --json --help" ;;
        "resume") _osora_words "--detach --trust --json --help" ;;
        "nccl fit") _osora_words "--samples --predict --collective --ranks --nodes --json --help" ;;
        "nccl model") _osora_words "--graphs --topo --nccl-version --tuner --json --help" ;;
        "nccl predict") _osora_words "--collective --ranks --nodes --size --samples --graphs --topo --nccl-version --json --help" ;;
        "nccl compare") _osora_words "--over --before --after --json --help" ;;
        "data bench") _osora_words "--manifest --columns --frames --stride --start --size --workers --json --help" ;;
        "data check") _osora_words "--manifest --columns --full --quarantine --deadline --workers --json --help" ;;
        "data index") _osora_words "--manifest --columns --out --index --deadline --workers --json --help" ;;
        "data plan") _osora_words "--csv --stage --list-only --set --json --help" ;;
        "data look") _osora_words "--clips --clip --bucket --out --force --width --seed --stage --columns --deadline --set --json --help" ;;
        "data score") _osora_words "--scores --aesthetic --flow --frames --out --resume --force --columns --deadline --workers --json --help" ;;
        "sample") _osora_words "--frames --size --steps --cfg-scale --seed --fps --embeddings --ema --no-ema --vae --vae-weights --weights --precision --out --json --help" ;;
        "model forward") _osora_words "--case --arch --weights --inputs --out --json --help" ;;
        "model merge") _osora_words "--weights --adapter --out --json --help" ;;
        "model train-step") _osora_words "--case --arch --weights --inputs --out --json --help" ;;
        "doctor") _osora_words "--run --root --probe --json --help" ;;
        "nodes") _osora_words "--forget --json --help" ;;
        "topology show") _osora_words "--topology --json --help" ;;
        "topology diff") _osora_words "--json --help" ;;
        "topology import") _osora_words "--output --topology --json --help" ;;
        "nccl env") _osora_words "--run --root --topology --probe --backend --nccl-version --tuner --set --json --help" ;;
        "nccl advise") _osora_words "--root --topology --probe --backend --nccl-version --tuner --set --json --help" ;;
        "report") _osora_words "--series --predictions --whatif --meta --format --out --json --help" ;;
        "whatif") _osora_words "--meta --json --help" ;;
        "diff") _osora_words "--format --out --json --help" ;;
        "detect") _osora_words "--csv --nodes --column --min-effect --lower-is-worse --json --help" ;;
        "bisect") _osora_words "--scaling --nodes --strong --dry-run --real --steps --trials --budget-gpu-h --anew --set --trust --json --help" ;;
        "history") _osora_words "--limit --format --json --help" ;;
        "history sql") _osora_words "--limit --time-limit --format --json --help" ;;
        "history export") _osora_words "--to --format --all --json --help" ;;
        "history import") _osora_words "--json --help" ;;
        "history vacuum") _osora_words "--keep-days --matrix-days --matrix-mib --journals --dry-run --json --help" ;;
        "history check") _osora_words "--json --help" ;;
        "history rebuild") _osora_words "--json --help" ;;
        "dashboard") _osora_words "--listen --token-file --open --json --help" ;;
        "daemon start") _osora_words "--json --help" ;;
        "daemon status") _osora_words "--json --help" ;;
        "daemon stop") _osora_words "--json --help" ;;
        "config show") _osora_words "--origin --set --json --help" ;;
        "explain") _osora_words "--json --help" ;;
        "completion") _osora_words "--json --help" ;;
        esac
        return
    fi
    case "$command" in
    "init") _osora_files ;;
    "submit") _osora_run_files ;;
    "rehearse") _osora_run_files ;;
    "tune") _osora_run_files ;;
    "plan") _osora_run_files ;;
    "validate") _osora_run_files ;;
    "exec-steps") _osora_files ;;
    "probe") _osora_run_files ;;
    "status") _osora_runs ;;
    "watch") _osora_runs ;;
    "logs") _osora_runs ;;
    "cancel") _osora_runs ;;
    "relaunch") _osora_runs ;;
    "resume") _osora_runs ;;
    "nccl compare") _osora_files ;;
    "data plan") _osora_run_files ;;
    "data look") _osora_files ;;
    "data score") _osora_files ;;
    "sample") _osora_runs ;;
    "topology show") _osora_files ;;
    "topology diff") _osora_files ;;
    "topology import") _osora_files ;;
    "nccl env") _osora_run_files ;;
    "nccl advise") _osora_run_files ;;
    "report") _osora_runs ;;
    "whatif") _osora_files ;;
    "diff") _osora_runs ;;
    "detect") _osora_runs ;;
    "bisect") _osora_runs ;;
    "history") _osora_runs ;;
    "history sql") : ;;
    "history export") _osora_runs ;;
    "history import") _osora_files ;;
    "config show") _osora_run_files ;;
    "explain") : ;;
    "completion") _osora_words "bash zsh fish" ;;
    "config") _osora_words "show" ;;
    "daemon") _osora_words "start status stop" ;;
    "data") _osora_words "bench check index look plan score" ;;
    "model") _osora_words "forward merge train-step" ;;
    "nccl") _osora_words "advise compare env fit model predict" ;;
    "topology") _osora_words "diff import show" ;;
    esac
}
complete -F _osora osora
