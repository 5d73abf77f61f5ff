// The command table: a new command is one line here.
#include "cli/command/commands.hpp"

namespace osora::cli {

std::vector<CommandSpec> command_table() {
    // One a line.
    // clang-format off
    return {
        init_command(),
        submit_command(),
        rehearse_command(),
        tune_command(),
        plan_command(),
        plan_calibrate_command(),
        plan_evaluate_command(),
        validate_command(),
        exec_steps_command(),
        probe_command(),
        status_command(),
        watch_command(),
        logs_command(),
        cancel_command(),
        relaunch_command(),
        resume_command(),
        nccl_fit_command(),
        nccl_model_command(),
        nccl_predict_command(),
        nccl_compare_command(),
        data_bench_command(),
        data_check_command(),
        data_index_command(),
        data_plan_command(),
        data_look_command(),
        data_score_command(),
        sample_command(),
        model_forward_command(),
        model_merge_command(),
        model_train_step_command(),
        doctor_command(),
        nodes_command(),
        topology_show_command(),
        topology_diff_command(),
        topology_import_command(),
        nccl_env_command(),
        nccl_advise_command(),
        report_command(),
        whatif_command(),
        diff_command(),
        detect_command(),
        bisect_command(),
        history_command(),
        history_sql_command(),
        history_export_command(),
        history_import_command(),
        history_vacuum_command(),
        history_check_command(),
        history_rebuild_command(),
        dashboard_command(),
        daemon_start_command(),
        daemon_status_command(),
        daemon_stop_command(),
        config_show_command(),
        explain_command(),
        completion_command(),
        completion_runs_command(),
        man_command(),  // hidden commands last
    };
    // clang-format on
}

CommandMatch find_command(std::span<CommandSpec const> table, std::span<std::string const> words) {
    for (std::size_t count : {std::size_t{2}, std::size_t{1}}) {
        if (words.size() < count) continue;
        std::string const name = count == 2 ? words[0] + " " + words[1] : words[0];
        for (CommandSpec const& command : table) {
            if (command.name == name) return {&command, count};
        }
    }
    return {};
}

}  // namespace osora::cli
