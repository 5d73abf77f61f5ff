// The rows of the command table; each is defined in the file of its command.
#pragma once

#include "cli/command/command.hpp"

namespace osora::cli {

[[nodiscard]] CommandSpec init_command();
[[nodiscard]] CommandSpec submit_command();
[[nodiscard]] CommandSpec rehearse_command();
[[nodiscard]] CommandSpec validate_command();
[[nodiscard]] CommandSpec exec_steps_command();
[[nodiscard]] CommandSpec status_command();
[[nodiscard]] CommandSpec watch_command();
[[nodiscard]] CommandSpec logs_command();
[[nodiscard]] CommandSpec bisect_command();
[[nodiscard]] CommandSpec cancel_command();
[[nodiscard]] CommandSpec relaunch_command();
[[nodiscard]] CommandSpec resume_command();
[[nodiscard]] CommandSpec plan_command();
[[nodiscard]] CommandSpec plan_calibrate_command();
[[nodiscard]] CommandSpec plan_evaluate_command();
[[nodiscard]] CommandSpec probe_command();
[[nodiscard]] CommandSpec tune_command();
[[nodiscard]] CommandSpec nccl_compare_command();
[[nodiscard]] CommandSpec nccl_fit_command();
[[nodiscard]] CommandSpec nccl_model_command();
[[nodiscard]] CommandSpec nccl_predict_command();
[[nodiscard]] CommandSpec data_bench_command();
[[nodiscard]] CommandSpec data_check_command();
[[nodiscard]] CommandSpec data_index_command();
[[nodiscard]] CommandSpec data_plan_command();
[[nodiscard]] CommandSpec data_look_command();
[[nodiscard]] CommandSpec data_score_command();
[[nodiscard]] CommandSpec sample_command();
[[nodiscard]] CommandSpec model_forward_command();
[[nodiscard]] CommandSpec model_merge_command();
[[nodiscard]] CommandSpec model_train_step_command();
[[nodiscard]] CommandSpec doctor_command();
[[nodiscard]] CommandSpec nodes_command();
[[nodiscard]] CommandSpec topology_show_command();
[[nodiscard]] CommandSpec topology_diff_command();
[[nodiscard]] CommandSpec topology_import_command();
[[nodiscard]] CommandSpec nccl_env_command();
[[nodiscard]] CommandSpec nccl_advise_command();
[[nodiscard]] CommandSpec report_command();
[[nodiscard]] CommandSpec whatif_command();
[[nodiscard]] CommandSpec detect_command();
[[nodiscard]] CommandSpec diff_command();
[[nodiscard]] CommandSpec history_command();
[[nodiscard]] CommandSpec history_export_command();
[[nodiscard]] CommandSpec history_import_command();
[[nodiscard]] CommandSpec history_vacuum_command();
[[nodiscard]] CommandSpec history_check_command();
[[nodiscard]] CommandSpec history_rebuild_command();
[[nodiscard]] CommandSpec history_sql_command();
[[nodiscard]] CommandSpec dashboard_command();
[[nodiscard]] CommandSpec daemon_start_command();
[[nodiscard]] CommandSpec daemon_status_command();
[[nodiscard]] CommandSpec daemon_stop_command();
[[nodiscard]] CommandSpec config_show_command();
[[nodiscard]] CommandSpec explain_command();
[[nodiscard]] CommandSpec completion_command();
[[nodiscard]] CommandSpec completion_runs_command();  // hidden: called by the completion script
[[nodiscard]] CommandSpec man_command();              // hidden: prints docs/man/osora.1

}  // namespace osora::cli
