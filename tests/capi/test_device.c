/* Section "device" of dlx.h on the CPU; drivers have their own tests. */
#include "util.h"

/* There is one CPU, and no reason text. */
static void cpu_is_always_there(void **state) {
  (void)state;

  assert_int_equal(dlx_device_count(kDLCPU), 1);
  assert_string_equal(dlx_backend_reason(kDLCPU), "");
}

/* Every device type of DLPack has a reason exactly if it has no device. */
static void absence_has_a_reason_and_presence_none(void **state) {
  (void)state;

  for (int type = -2; type <= 30; ++type) {
    const int32_t count = dlx_device_count(type);
    const char *reason = dlx_backend_reason(type);
    assert_true(count >= 0);
    assert_non_null(reason);
    assert_int_equal(reason[0] == '\0', count > 0);
  }
}

/* Unknown types have no devices. */
static void unknown_types_have_no_devices(void **state) {
  (void)state;

  assert_int_equal(dlx_device_count(0), 0);
  assert_int_equal(dlx_device_count(-1), 0);
  assert_int_equal(dlx_device_count(9999), 0);
  assert_int_equal(dlx_device_count(INT32_MIN), 0);
}

/* The CPU has a name and a size. */
static void info_describes_the_cpu(void **state) {
  (void)state;
  dlx_device_properties info;
  memset(&info, 0xff, sizeof info);
  info.struct_size = sizeof info;

  assert_ok(dlx_device_info(kDLCPU, 0, &info));

  assert_int_equal(info.struct_size, sizeof info);
  assert_int_equal(info.device_type, kDLCPU);
  assert_int_equal(info.device_id, 0);
  assert_int_equal(info.reserved, 0);
  assert_true(info.memory_total > 0);
  assert_true(info.memory_free == -1 || info.memory_free <= info.memory_total);
  assert_non_null(memchr(info.name, '\0', sizeof info.name));
  assert_int_not_equal(info.name[0], '\0');
}

/* Only the fields that struct_size covers are filled. */
static void info_fills_what_struct_size_covers(void **state) {
  (void)state;
  dlx_device_properties info;
  memset(&info, 0x7f, sizeof info);
  info.struct_size = offsetof(dlx_device_properties, memory_free);

  assert_ok(dlx_device_info(kDLCPU, 0, &info));

  assert_int_equal(info.device_type, kDLCPU);
  assert_true(info.memory_total > 0);
  assert_int_equal(info.memory_free, INT64_C(0x7f7f7f7f7f7f7f7f));
  for (size_t i = 0; i < sizeof info.name; ++i) assert_int_equal(info.name[i], 0x7f);
}

/* In a newer caller's struct, the fields that dlx knows are filled. */
static void info_takes_a_newer_struct(void **state) {
  (void)state;
  struct {
    dlx_device_properties info;
    int64_t more;
  } newer;
  newer.info.struct_size = sizeof newer;
  newer.more = 17;

  assert_ok(dlx_device_info(kDLCPU, 0, &newer.info));

  assert_int_equal(newer.info.struct_size, sizeof newer);
  assert_true(newer.info.memory_total > 0);
}

/* A struct_size of 0 is refused. */
static void info_needs_a_struct_size(void **state) {
  (void)state;
  dlx_device_properties info;
  memset(&info, 0, sizeof info);

  assert_fails(dlx_device_info(kDLCPU, 0, &info), DLX_ERROR_INVALID_ARGUMENT, "struct_size");
}

/* A missing device is unavailable, and nothing is written. */
static void info_of_a_missing_device_is_unavailable(void **state) {
  (void)state;
  dlx_device_properties info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;

  assert_fails(dlx_device_info(kDLCPU, 1, &info), DLX_ERROR_UNAVAILABLE, "cpu:1");
  assert_fails(dlx_device_info(kDLCPU, -1, &info), DLX_ERROR_UNAVAILABLE, "cpu:-1");
  assert_fails(dlx_device_info(kDLCUDA, dlx_device_count(kDLCUDA), &info), DLX_ERROR_UNAVAILABLE,
               "cuda");
  assert_fails(dlx_device_info(9999, 0, &info), DLX_ERROR_UNAVAILABLE, "9999");

  assert_int_equal(info.device_type, 0);
}

static const struct {
  const char *name;
  int32_t type, id;
  const char *written;
} devices[] = {
    {"cpu", kDLCPU, 0, "cpu"},
    {"cpu:0", kDLCPU, 0, "cpu"},
    {"cuda", kDLCUDA, 0, "cuda:0"},
    {"cuda:1", kDLCUDA, 1, "cuda:1"},
    {"cuda:2147483647", kDLCUDA, INT32_MAX, "cuda:2147483647"},
    {"cuda_host", kDLCUDAHost, 0, NULL},
    {"cuda_managed", kDLCUDAManaged, 0, NULL},
    {"rocm:0", kDLROCM, 0, "rocm:0"},
    {"rocm_host", kDLROCMHost, 0, NULL},
    {"opencl", kDLOpenCL, 0, "opencl:0"},
    {"vulkan", kDLVulkan, 0, "vulkan:0"},
    {"metal", kDLMetal, 0, "metal:0"},
    {"oneapi", kDLOneAPI, 0, "oneapi:0"},
    {"ext_dev", kDLExtDev, 0, NULL},
    {"2:1", kDLCUDA, 1, "cuda:1"},
    {"1:0", kDLCPU, 0, "cpu"},
    {"777:3", 777, 3, "777:3"},
    {"2147483647:0", INT32_MAX, 0, "2147483647:0"},
};

/* Names and numbers are parsed as the header says. */
static void parse_reads_names_and_numbers(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(devices); ++i) {
    int32_t type = -1, id = -1;
    assert_ok(dlx_device_parse(devices[i].name, &type, &id));
    assert_int_equal(type, devices[i].type);
    assert_int_equal(id, devices[i].id);
  }
}

/* The CPU's name has no id, all other names have one. */
static void name_writes_what_parse_reads(void **state) {
  (void)state;

  for (size_t i = 0; i < COUNT_OF(devices); ++i) {
    char name[DLX_NAME_SIZE];
    int32_t type = -1, id = -1;
    assert_ok(dlx_device_name(devices[i].type, devices[i].id, name, sizeof name));
    if (devices[i].written != NULL) assert_string_equal(name, devices[i].written);
    assert_ok(dlx_device_parse(name, &type, &id));
    assert_int_equal(type, devices[i].type);
    assert_int_equal(id, devices[i].id);
  }
}

/* Every device type of DLPack has a unique name, which is parsed back. */
static void every_type_of_dlpack_has_a_name(void **state) {
  (void)state;

  for (int expected = 1; expected <= DLX_DEVICE_ASCEND; ++expected) {
    char name[DLX_NAME_SIZE];
    int32_t type = -1, id = -1;
    if (expected == 5 || expected == 6) continue; /* never given to a type */
    assert_ok(dlx_device_name(expected, 2, name, sizeof name));
    assert_true(name[0] >= 'a' && name[0] <= 'z');
    assert_ok(dlx_device_parse(name, &type, &id));
    assert_int_equal(type, expected);
    assert_int_equal(id, 2);
  }
}

/* An invalid name is refused, and the outputs are unchanged. */
static void parse_refuses_what_is_no_device(void **state) {
  (void)state;
  static const char *const strangers[] = {
      "",
      " ",
      "CPU",
      "cpu ",
      "cpu:",
      "cpu:-1",
      "cpu:a",
      "cpu:0:0",
      "cuda:",
      "cuda:1x",
      "cuda 1",
      "gpu",
      ":1",
      ":",
      "2",
      "2:",
      "-2:1",
      "2:-1",
      "0:0",
      "cuda:2147483648",
      "2147483648:0",
      "02147483647:0",
      "99999999999:0",
      "2:99999999999",
      "x:1",
      "cudax:0",
      "cudb:0",
      "cuda_hosu",
  };

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    int32_t type = -7, id = -8;
    if (dlx_device_parse(strangers[i], &type, &id) != DLX_ERROR_INVALID_ARGUMENT) {
      fail_msg("\"%s\" is taken for device %d, %d", strangers[i], type, id);
    }
    assert_says(dlx_last_error(), "`name`");
    assert_int_equal(type, -7);
    assert_int_equal(id, -8);
  }
}

/* A name needs its length plus one byte; less is refused, and nothing is written. */
static void name_needs_room_for_the_final_zero(void **state) {
  (void)state;
  char name[16] = "untouched";

  assert_fails(dlx_device_name(kDLCUDA, 10, name, strlen("cuda:10")), DLX_ERROR_INVALID_ARGUMENT,
               "`capacity`");
  assert_string_equal(name, "untouched");

  assert_ok(dlx_device_name(kDLCUDA, 10, name, strlen("cuda:10") + 1));
  assert_string_equal(name, "cuda:10");
}

/* Types begin at 1 and ids at 0. */
static void name_needs_a_device(void **state) {
  (void)state;
  static const int32_t strangers[][2] = {{0, 0}, {-1, 0}, {kDLCUDA, -1}, {kDLCPU, INT32_MIN}};
  char name[16] = "untouched";

  for (size_t i = 0; i < COUNT_OF(strangers); ++i) {
    assert_fails(dlx_device_name(strangers[i][0], strangers[i][1], name, sizeof name),
                 DLX_ERROR_INVALID_ARGUMENT, "do not name a device");
  }
  assert_string_equal(name, "untouched");
}

/* Host memory is on the CPU. */
static void of_pointer_finds_host_memory_on_the_cpu(void **state) {
  (void)state;
  const int local = 0;
  int32_t type = -1, id = -1;

  assert_ok(dlx_device_of_pointer(&local, &type, &id));

  assert_int_equal(type, kDLCPU);
  assert_int_equal(id, 0);
}

/* CPU work is synchronous: waiting returns at once. */
static void synchronize_returns_on_the_cpu(void **state) {
  (void)state;

  assert_ok(dlx_device_synchronize(kDLCPU, 0));
}

/* Waiting for a missing device is refused. */
static void synchronize_needs_a_device(void **state) {
  (void)state;

  assert_fails(dlx_device_synchronize(kDLCPU, 1), DLX_ERROR_UNAVAILABLE, "cpu:1");
  assert_fails(dlx_device_synchronize(9999, 0), DLX_ERROR_UNAVAILABLE, "9999");
}

/* A NULL is named with its function, and the outputs are unchanged. */
static void null_parameters_are_named(void **state) {
  (void)state;
  int32_t type = -7, id = -8;

  assert_null_named(dlx_device_info, (kDLCPU, 0, NULL), "out");
  assert_null_named(dlx_device_parse, (NULL, &type, &id), "name");
  assert_null_named(dlx_device_parse, ("cpu", NULL, &id), "out_device_type");
  assert_null_named(dlx_device_parse, ("cpu", &type, NULL), "out_device_id");
  assert_null_named(dlx_device_name, (kDLCPU, 0, NULL, DLX_NAME_SIZE), "out");
  assert_null_named(dlx_device_of_pointer, (NULL, &type, &id), "pointer");
  assert_null_named(dlx_device_of_pointer, (&type, NULL, &id), "out_device_type");
  assert_null_named(dlx_device_of_pointer, (&type, &type, NULL), "out_device_id");

  assert_int_equal(type, -7);
  assert_int_equal(id, -8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cpu_is_always_there),
      cmocka_unit_test(absence_has_a_reason_and_presence_none),
      cmocka_unit_test(unknown_types_have_no_devices),
      cmocka_unit_test(info_describes_the_cpu),
      cmocka_unit_test(info_fills_what_struct_size_covers),
      cmocka_unit_test(info_takes_a_newer_struct),
      cmocka_unit_test(info_needs_a_struct_size),
      cmocka_unit_test(info_of_a_missing_device_is_unavailable),
      cmocka_unit_test(parse_reads_names_and_numbers),
      cmocka_unit_test(name_writes_what_parse_reads),
      cmocka_unit_test(every_type_of_dlpack_has_a_name),
      cmocka_unit_test(parse_refuses_what_is_no_device),
      cmocka_unit_test(name_needs_room_for_the_final_zero),
      cmocka_unit_test(name_needs_a_device),
      cmocka_unit_test(of_pointer_finds_host_memory_on_the_cpu),
      cmocka_unit_test(synchronize_returns_on_the_cpu),
      cmocka_unit_test(synchronize_needs_a_device),
      cmocka_unit_test(null_parameters_are_named),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
